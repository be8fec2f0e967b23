// A client of the plain form: a REQ socket. It asks for one thing after the other.
//
//     node client.cjs FRONT MESSAGE...
//
// It shows the first segment of each answer, as a program does that knows of one.

const zmq = require('zeromq/v5-compat');

const [front, ...messages] = process.argv.slice(2);
const req = zmq.socket('req');

// A REQ socket of this package may be given several messages at once, and sends each when the one before is answered.
// Now and then it misses an answer then: see docs/how-to/use-services-from-node.md.
const ask = () => req.send(messages.shift());

req.connect(front);
req.on('message', (answer) => {
  console.log('resp: ' + answer);
  if (messages.length === 0) process.exit(0);
  ask();
});
ask();
