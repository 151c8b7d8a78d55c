// client.mjs SDK URL KEY ERA TOOL ARGUMENTS...: connects, lists, calls each tool in turn, prints one line of JSON a step.
// SDK is the folder of the version's package; ERA is legacy or modern, which only version 2 knows.
import { pathToFileURL } from 'node:url';

const [, , sdk, url, key, era, ...calls] = process.argv;
const load = (path) => import(pathToFileURL(`${sdk}/node_modules/@modelcontextprotocol/${path}`).href);

async function connectable() {
  const options = { requestInit: { headers: { authorization: `Bearer ${key}` } } };
  if (sdk.endsWith('typescript-2')) {
    const { Client, StreamableHTTPClientTransport } = await load('client/dist/index.mjs');
    const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
    const client = new Client({ name: 'peer', version: '1' }, { capabilities: {}, versionNegotiation: { mode } });
    return [client, new StreamableHTTPClientTransport(new URL(url), options)];
  }
  const { Client } = await load('sdk/dist/esm/client/index.js');
  const { StreamableHTTPClientTransport } = await load('sdk/dist/esm/client/streamableHttp.js');
  const client = new Client({ name: 'peer', version: '1' }, { capabilities: {} });
  return [client, new StreamableHTTPClientTransport(new URL(url), options)];
}

async function step(name, action) {
  try {
    const result = await action();
    const text = result?.content?.[0]?.text;
    console.log(JSON.stringify({ step: name, ok: true, text, tools: result?.tools?.map((tool) => tool.name) }));
  } catch (error) {
    console.log(JSON.stringify({ step: name, ok: false, code: error.code, message: error.message, data: error.data }));
  }
}

const [client, transport] = await connectable();
await step('connect', () => client.connect(transport));
await step('list', () => client.listTools());
for (let at = 0; at < calls.length; at += 2) {
  await step(calls[at], () => client.callTool({ name: calls[at], arguments: JSON.parse(calls[at + 1]) }));
}
await step('close', () => client.close());
process.exit(0);
