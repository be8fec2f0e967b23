// A minimal chat client for the plain door of a room: PUSH what is typed, SUB what everybody says.
//
//     npm install
//     node client.js [NICK [PULL [PUB]]]
//
// The door: pregon chat door --room plaza

const readline = require('node:readline');
const zmq = require('zeromq/v5-compat');

const [nick = 'Ana', pull = 'tcp://127.0.0.1:9999', pub = 'tcp://127.0.0.1:9998'] = process.argv.slice(2);
const push = zmq.socket('push');
const sub = zmq.socket('sub');

sub.on('message', (who, text) => console.log(`[${who}] ${text}`));
sub.connect(pub);
sub.subscribe('');
push.connect(pull);

push.send([nick, 'HI']);
const typed = readline.createInterface({ input: process.stdin });
typed.on('line', (line) => push.send([nick, line]));
typed.on('close', () => {
  push.send([nick, 'BYE']);
  // Long enough to see one's own farewell.
  setTimeout(() => process.exit(0), 1000);
});
process.on('SIGINT', () => typed.close());
