// A client of the plain form with a DEALER: it writes the delimiter that a REQ socket would, and waits for nothing.
//
//     node dealer.cjs FRONT MESSAGE...

const zmq = require('zeromq/v5-compat');

const [front, ...messages] = process.argv.slice(2);
const dealer = zmq.socket('dealer');
let left = messages.length;

dealer.connect(front);
dealer.on('message', (delimiter, ...answer) => {
  console.log(`resp: [${delimiter}] ${answer.join('+')}`);
  left -= 1;
  if (left === 0) process.exit(0);
});
for (const message of messages) dealer.send(['', ...message.split('+')]);
