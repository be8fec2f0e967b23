// A worker with a REP socket, for `pregon proxy router-dealer`: it does not ask for work, it is given some in turn.
//
//     node rep_worker.cjs [BACK]

const zmq = require('zeromq/v5-compat');

const rep = zmq.socket('rep');
rep.connect(process.argv[2] ?? 'tcp://127.0.0.1:5584');
rep.on('message', (name) => {
  console.log(`asked by ${name}`);
  rep.send(`Hola, ${name}`);
});
