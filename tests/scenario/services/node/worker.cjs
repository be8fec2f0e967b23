// A worker of the plain form: a REQ socket that asks for work, and asks for more with each answer.
//
//     node worker.cjs BACK NAME [MS [TYPES [LOAD]]]
//
// It takes MS milliseconds for a request; with `hold`, as long as nothing comes on its standard input.

const zmq = require('zeromq/v5-compat');

const [back, name, ms = '0', types = '', load] = process.argv.slice(2);
const req = zmq.socket('req');

req.identity = name;
req.connect(back);
req.on('message', (client, delimiter, ...segments) => {
  const work = segments.join('+');
  const answer = () => {
    req.send([client, '', `${work} by ${name}`]);
    console.log(`answered ${work}`);
  };
  console.log(`given ${work}`);
  if (ms === 'hold') process.stdin.once('data', answer);
  else setTimeout(answer, Number(ms));
});
req.send(load === undefined ? ['', '', types] : ['', '', types, load]);
console.log('registering');
