// A worker of PGS/1, with types, slots, beats and goodbye. Nothing of Pregón is used, only ZeroMQ.
//
//     node worker.mjs [BACK]
//
// Ctrl-C, or SIGTERM: it takes no more work, answers what it has, and ends.

import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Dealer } from 'zeromq';

// What it does, by type, of which a version may be said. Each is given the frames of the body, and a signal that nobody
// waits for its answer any more.
const services = {
  'sqrt@2': ([x]) => {
    if (!(x >= 0)) throw new Error(`${x} has no square root`);
    return Math.sqrt(x);
  },
  sleep: ([ms], signal) => sleep(Number(ms), `slept ${ms} ms`, { signal }),
};
const SLOTS = 4;
const LEAVE_MS_MAX = 30_000;
const NO_ID = Buffer.alloc(8);

// With sendTimeout 0, what does not fit in the socket's queue is dropped at once. That is right for a worker: a broker
// that was away for so long knows nothing of its work, and will ask who this is.
const dealer = new Dealer({ sendTimeout: 0, linger: 1000 });
const underWay = new Map();
let isLeaving = false;
let greetedAt = -Infinity;
let beats;

const load = () => (os.loadavg()[0] / os.cpus().length).toFixed(2);
const say = (kind, id = NO_ID, tail = '', ...body) =>
  dealer.send([Buffer.concat([Buffer.from(`PGS1${kind}`), id, Buffer.from(tail)]), ...body]).catch(() => {});

function hello() {
  // Beats that waited for a broker to be started anew make it ask as often who this is: once answered is enough.
  if (isLeaving || performance.now() - greetedAt < 500) return;
  greetedAt = performance.now();
  const types = Object.keys(services);
  say('H', NO_ID, JSON.stringify({ types, name: `node-${process.pid}`, slots: SLOTS, load: Number(load()) }));
}

function beatEvery(ms) {
  clearInterval(beats);
  beats = setInterval(() => say('B', NO_ID, load()), ms);
}

async function work(id, tail, body) {
  if (isLeaving || underWay.size >= SLOTS) return say('N', id);
  const key = id.toString('hex');
  const name = tail.split(/[@\n]/, 1)[0];
  underWay.set(key, new AbortController());
  try {
    const serve = Object.entries(services).find(([type]) => type.split('@')[0] === name)[1];
    say('A', id, load(), String(await serve(body.map(String), underWay.get(key).signal)));
  } catch (error) {
    say('E', id, JSON.stringify({ code: 'service_failed', message: String(error.message).slice(0, 500) }));
  }
  underWay.delete(key);
}

async function leave() {
  if (isLeaving) return;
  isLeaving = true;
  say('G');
  // Work may have been on its way when the broker heard goodbye: stay for a moment to give it back.
  const last = performance.now() + LEAVE_MS_MAX;
  do await sleep(300);
  while (underWay.size && performance.now() < last);
  for (const late of underWay.values()) late.abort();
  clearInterval(beats);
  dealer.close();
}

process.once('SIGINT', leave).once('SIGTERM', leave);
dealer.connect(process.argv[2] ?? 'tcp://127.0.0.1:5574');
hello();
beatEvery(1000);
for await (const [frame, ...body] of dealer) {
  const [kind, id, tail] = [String.fromCharCode(frame[4]), frame.subarray(5, 13), frame.toString('utf8', 13)];
  if (kind === 'R') work(id, tail, body);
  else if (kind === 'B') say('B', NO_ID, load());
  else if (kind === 'X') underWay.get(id.toString('hex'))?.abort();
  else if (kind === 'H') hello();
  else if (kind === 'W') {
    beatEvery(JSON.parse(tail).beat_ms || 5000);
    console.log(`serving ${Object.keys(services).join(', ')}`);
  } else if (kind === 'E') {
    console.error(`the broker does not want this worker: ${JSON.parse(tail).message}`);
    process.exit(1);
  }
}
