// A client of PGS/1, with ids, deadline, priority and errors. Nothing of Pregón is used, only ZeroMQ.
//
//     node client.mjs [--front ADDRESS] [--priority 0-9] [--deadline-ms N] [--version V] TYPE INPUT...
//
// All inputs are asked for at once. It ends with status 1 if one of them has no answer.

import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';
import { Dealer } from 'zeromq';

const AGAIN_MS = 1000; // Sent again after so long without an answer.
const GRACE_MS = 500; // The broker says itself that a deadline has passed; wait so much longer to hear it.
const dealer = new Dealer({ sendTimeout: 0, linger: 0 });
const waiting = new Map();

// What does not fit in the socket's queue is refused at once, and sent when its turn to be sent again comes.
const say = (kind, id, tail = '', ...body) =>
  dealer.send([Buffer.concat([Buffer.from(`PGS1${kind}`), id, Buffer.from(tail)]), ...body]).catch(() => {});

/** The answer's frames. Rejects with an error that has the broker's `code`, and `retryable`. */
function ask(type, body, { deadline_ms = 10_000, ...options } = {}) {
  const id = randomBytes(8);
  const last = performance.now() + deadline_ms;
  const send = () => {
    const left = Math.ceil(last - performance.now());
    if (left > 0) {
      say('R', id, `${type}\n${JSON.stringify({ ...options, deadline_ms: left })}`, ...body);
      // To send it again is safe while it waits or is worked on: the broker knows it by its id. A broker that was
      // started anew knows nothing, and takes it.
      waiting.get(id.toString('hex')).timer = setTimeout(send, Math.min(AGAIN_MS, left + GRACE_MS));
    } else {
      say('C', id);
      const message = `no word in ${deadline_ms} ms: is there a broker?`;
      settle(id, { code: 'answer_timeout', message, retryable: true });
    }
  };
  return new Promise((resolve, reject) => {
    waiting.set(id.toString('hex'), { resolve, reject });
    send();
  });
}

function settle(id, failure, body) {
  const asked = waiting.get(id.toString('hex'));
  if (!asked) return;
  waiting.delete(id.toString('hex'));
  clearTimeout(asked.timer);
  if (failure) asked.reject(Object.assign(new Error(failure.message), failure));
  else asked.resolve(body);
}

async function listen() {
  for await (const [frame, ...body] of dealer) {
    const [kind, id] = [String.fromCharCode(frame[4]), frame.subarray(5, 13)];
    if (kind === 'A') settle(id, null, body);
    else if (kind === 'E') settle(id, JSON.parse(frame.toString('utf8', 13)));
  }
}

const text = { type: 'string' };
const { values, positionals } = parseArgs({
  options: { front: { ...text, default: 'tcp://127.0.0.1:5573' }, priority: text, 'deadline-ms': text, version: text },
  allowPositionals: true,
});
const [type, ...inputs] = positionals;
const options = { priority: Number(values.priority ?? 5), deadline_ms: Number(values['deadline-ms'] ?? 10_000) };
if (values.version) options.version = values.version;

dealer.connect(values.front);
listen();
const results = inputs.map(async (input) => {
  try {
    console.log(`${type} ${input} = ${await ask(type, [input], options)}`);
  } catch (error) {
    console.log(`${type} ${input}: error ${error.code}: ${error.message}`);
    process.exitCode = 1;
  }
});
await Promise.all(results);
dealer.close();
