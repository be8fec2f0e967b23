// A worker of PGS/1 that says how loaded it is: first with its hello, then with each answer the next figure.
//
//     node loads.cjs BACK NAME LOAD...

const zmq = require('zeromq/v5-compat');

const [back, name, ...loads] = process.argv.slice(2);
const dealer = zmq.socket('dealer');
const head = (kind, id, tail) => Buffer.concat([Buffer.from('PGS1' + kind), id, Buffer.from(tail)]);
const nobody = Buffer.alloc(8);

dealer.connect(back);
dealer.on('message', (frame, ...body) => {
  const kind = String.fromCharCode(frame[4]);
  if (kind === 'B') dealer.send([head('B', nobody, '')]);
  if (kind !== 'R') return;
  if (loads.length > 1) loads.shift();
  dealer.send([head('A', frame.subarray(5, 13), loads[0]), `${body.join('+')} by ${name}`]);
});
dealer.send([head('H', nobody, JSON.stringify({ types: ['default'], name, load: Number(loads[0]) }))]);
