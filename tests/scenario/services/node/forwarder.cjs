// A broker of the router/dealer kind, in front of another broker: what comes from one side goes to the other as it is.
//
//     node forwarder.cjs BIND CONNECT

const zmq = require('zeromq/v5-compat');

const [bind, connect] = process.argv.slice(2);
const router = zmq.socket('router');
const dealer = zmq.socket('dealer');

router.on('message', (...segments) => dealer.send(segments));
dealer.on('message', (...segments) => router.send(segments));
dealer.connect(connect);
router.bind(bind, (error) => {
  if (error) throw error;
  console.log('forwarding');
});
