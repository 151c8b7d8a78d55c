// client.mjs SDK URL KEY ERA STEP JSON...: connects, lists, takes each step in turn, prints one line of JSON a step.
// A step is a tool with its arguments, or one of the methods below with its parameters; with `progress:` before the name
// of a tool, it is asked for progress. After `--` comes another run.
// SDK is the folder of the version's package; ERA is legacy or modern, which only version 2 knows.
import { pathToFileURL } from 'node:url';

const [, , sdk, ...rest] = process.argv;
const load = (path) => import(pathToFileURL(`${sdk}/node_modules/@modelcontextprotocol/${path}`).href);
const lists = {
  'tools/list': ['listTools', 'tools'],
  'prompts/list': ['listPrompts', 'prompts'],
  'resources/list': ['listResources', 'resources'],
  'resources/templates/list': ['listResourceTemplates', 'resourceTemplates'],
};

async function connectable(url, key, era) {
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

// What the gateway's store had no time for on a busy machine is done again: the server has seen nothing of it.
async function patiently(action, tries = 50) {
  try {
    return await action();
  } catch (error) {
    if (tries === 1 || error.data?.reason !== 'trust.store_unavailable') throw error;
    await new Promise((done) => setTimeout(done, 100));
    return patiently(action, tries - 1);
  }
}

async function step(name, action) {
  try {
    const result = await patiently(action);
    const text = result?.content?.[0]?.text;
    const tools = result?.tools?.map((tool) => tool.name);
    console.log(JSON.stringify({ step: name, ok: true, text, tools, result }));
  } catch (error) {
    console.log(JSON.stringify({ step: name, ok: false, code: error.code, message: error.message, data: error.data }));
  }
}

async function pages(client, [list, key]) {
  const members = [];
  let page = await client[list]();
  members.push(...page[key]);
  while (page.nextCursor !== undefined) {
    page = await client[list]({ cursor: page.nextCursor });
    members.push(...page[key]);
  }
  return { members };
}

async function withProgress(client, name, told) {
  const progress = [];
  const options = { onprogress: (news) => progress.push(news.progress) };
  const call = { name, arguments: told };
  const old = !sdk.endsWith('typescript-2');
  const result = await (old ? client.callTool(call, undefined, options) : client.callTool(call, options));
  return { ...result, progress };
}

function take(client, name, told) {
  if (lists[name]) return pages(client, lists[name]);
  if (name === 'prompts/get') return client.getPrompt(told);
  if (name === 'resources/read') return client.readResource(told);
  if (name.startsWith('progress:')) return withProgress(client, name.slice('progress:'.length), told);
  return client.callTool({ name, arguments: told });
}

async function run([url, key, era, ...steps]) {
  const [client, transport] = await connectable(url, key, era);
  await step('connect', () => client.connect(transport));
  await step('list', () => client.listTools());
  for (let at = 0; at < steps.length; at += 2) {
    await step(steps[at], () => take(client, steps[at], JSON.parse(steps[at + 1])));
  }
  await step('close', () => client.close());
}

while (rest.length > 0) {
  const end = rest.indexOf('--');
  await run(rest.splice(0, end < 0 ? rest.length : end));
  rest.shift();
}
process.exit(0);
