// A client that names the type of its job: a REQ socket, and a head of PGS/1 before the message.
//
//     node typed.cjs FRONT TYPE MESSAGE...

const zmq = require('zeromq/v5-compat');

const [front, type, ...messages] = process.argv.slice(2);
const req = zmq.socket('req');
let next = 0;

function ask() {
  if (next === messages.length) process.exit(0);
  const id = Buffer.alloc(8);
  id.writeUInt32BE(next);
  req.send([Buffer.concat([Buffer.from('PGS1R'), id, Buffer.from(type)]), messages[next]]);
}

req.connect(front);
req.on('message', (head, ...body) => {
  const kind = head.toString('latin1', 0, 5);
  if (head.readUInt32BE(5) !== next) throw new Error('the answer has the id of another request');
  if (kind === 'PGS1A') console.log('resp: ' + body.join('+'));
  else console.log(`${kind} ${JSON.parse(head.subarray(13)).code}`);
  next += 1;
  ask();
});
ask();
