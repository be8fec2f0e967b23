// A client of the plain form: a REQ socket, one request, one answer.
//
//     node plain_client.cjs [NAME [FRONT]]

const zmq = require('zeromq/v5-compat');

const [name = 'Alex', front = 'tcp://127.0.0.1:5573'] = process.argv.slice(2);
const req = zmq.socket('req');
req.connect(front);

// An error comes as two segments: `error CODE: MESSAGE`, and a head with the same for programs.
req.on('message', (answer, error) => {
  console.log(String(answer));
  process.exit(error ? 1 : 0);
});
req.send(name);
