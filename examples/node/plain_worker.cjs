// A worker of the plain form: a REQ socket that asks for work, and asks for more with each answer.
//
//     node plain_worker.cjs [BACK]

const zmq = require('zeromq/v5-compat');

const req = zmq.socket('req');
req.identity = `worker-${process.pid}`;
req.connect(process.argv[2] ?? 'tcp://127.0.0.1:5574');

// The client's identity, a delimiter, and what the client sent. The identity goes back before the answer.
req.on('message', (client, delimiter, name) => {
  console.log(`asked by ${name}`);
  req.send([client, '', `Hola, ${name}`]);
});

// The first message has no client and no answer: it only asks for work.
req.send(['', '', '']);
