// Talks to a hub as a program made from its WSDLs does: publishes, receives, registers and searches.
// What came back goes to standard output as JSON, for the test to compare.
//
//     node talk.mjs http://127.0.0.1:5580 TOPIC

import soap from 'soap';

const [base, topic] = process.argv.slice(2);
const PS = 'http://ps.agesic.gub.uy';
const connect = (service) => soap.createClientAsync(`${base}/soap/${service}?wsdl`);
const said = {};

const novedades = await connect('novedades');
novedades.addSoapHeader({ 'ps:producer': 'DGREC', 'ps:topic': topic }, '', 'ps', PS);
const acta = '<n:acta xmlns:n="urn:n"><n:ci>1.111.111-1</n:ci></n:acta>';
const published = [
  await novedades.PublishNotificationAsync({
    _xml: `<ps:notification xmlns:ps="${PS}">${acta}</ps:notification>`,
  }),
  await novedades.PublishNotificationAsync({
    'ps:content': { attributes: { contentType: 'application/json', encoding: 'text' }, $value: '{"ci": "<1>"}' },
  }),
];
said.published = published.map(([, , header]) => Number(header.notificationId));

const recepcion = await connect('recepcion');
said.received = [];
let ackNotificationId = '';
for (;;) {
  const asked = { subscriber: 'BPS', topic, ackNotificationId, wrapped: true };
  const [result, , header] = await recepcion.ReceiveNotificationAsync(asked);
  if (!header) break;
  ackNotificationId = header.notificationId;
  said.received.push({ producer: header.producer, number: Number(ackNotificationId), result });
}

const catalogo = await connect('catalogo');
const [created] = await catalogo.CreateProducerAsync({ name: 'DNIC', topics: { topic: [topic] } });
said.created = created.producer;
const [listed] = await catalogo.ListTopicsAsync({});
said.listed = listed.topic.map((one) => one.name);
const [made] = await catalogo.CreateProducerKeyAsync({ name: 'DGREC' });

try {
  await novedades.PublishNotificationAsync({});
} catch (error) {
  said.fault = error.root.Envelope.Body.Fault.detail.error.code;
}
novedades.setSecurity(new soap.WSSecurity('DGREC', made.accessKey, { mustUnderstand: 1 }));
const [, , header] = await novedades.PublishNotificationAsync({});
said.publishedWithKey = Number(header.notificationId);

const trazas = await connect('trazas');
const [found] = await trazas.SearchTracesAsync({ topic, subscriber: 'BPS', from: new Date(0).toISOString() });
said.traces = found.trace.map((one) => [one.kind, one.firstNotificationId]);

console.log(JSON.stringify(said));
