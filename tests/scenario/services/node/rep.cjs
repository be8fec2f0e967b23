// A worker that does not ask for work: a REP socket, behind a router/dealer forwarder.
//
//     node rep.cjs BACK NAME

const zmq = require('zeromq/v5-compat');

const [back, name] = process.argv.slice(2);
const rep = zmq.socket('rep');

rep.connect(back);
rep.on('message', (message) => {
  console.log(`given ${message}`);
  rep.send(`${message} by ${name}`);
});
