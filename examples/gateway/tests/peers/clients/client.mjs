// client.mjs SDK URL KEY ERA STEP JSON...: connects, lists, takes each step in turn, prints one line of JSON a step.
// A step is a tool with its arguments, or one of the methods below with its parameters; with `progress:` before the name
// of a tool, it is asked for progress. After `--` comes another run.
// A run that ends with the step `asked` declares that it can be asked for everything; that step says how often it was.
// URL may also be `stdio:` and a command, in JSON, which is then the server.
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

// What a server may ask of a client: the method, the name of its schema in version 1, the answer.
const requests = {
  sampling: [
    'sampling/createMessage',
    'CreateMessageRequestSchema',
    { role: 'assistant', model: 'none', content: { type: 'text', text: 'what the model says' } },
  ],
  elicitation: [
    'elicitation/create',
    'ElicitRequestSchema',
    { action: 'accept', content: { name: 'ann', response: 'what the user says' } },
  ],
  roots: ['roots/list', 'ListRootsRequestSchema', { roots: [{ uri: 'file:///of-the-client', name: 'of-the-client' }] }],
};

// Answers what the client is asked, and counts it.
async function answer(client, asked) {
  const schemas = sdk.endsWith('typescript-2') ? undefined : await load('sdk/dist/esm/types.js');
  for (const [name, [method, schema, told]] of Object.entries(requests)) {
    client.setRequestHandler(schemas?.[schema] ?? method, async () => {
      asked[name] += 1;
      return told;
    });
  }
}

function transport(url, key, Http, Stdio) {
  if (!url.startsWith('stdio:')) {
    return new Http(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } });
  }
  const [command, ...args] = JSON.parse(url.slice('stdio:'.length));
  return new Stdio({ command, args, stderr: 'ignore' });
}

async function connectable(url, key, era, capabilities) {
  if (sdk.endsWith('typescript-2')) {
    const { Client, StreamableHTTPClientTransport } = await load('client/dist/index.mjs');
    const { StdioClientTransport } = await load('client/dist/stdio.mjs');
    const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
    const client = new Client({ name: 'peer', version: '1' }, { capabilities, versionNegotiation: { mode } });
    return [client, transport(url, key, StreamableHTTPClientTransport, StdioClientTransport)];
  }
  const { Client } = await load('sdk/dist/esm/client/index.js');
  const { StreamableHTTPClientTransport } = await load('sdk/dist/esm/client/streamableHttp.js');
  const { StdioClientTransport } = await load('sdk/dist/esm/client/stdio.js');
  const client = new Client({ name: 'peer', version: '1' }, { capabilities });
  return [client, transport(url, key, StreamableHTTPClientTransport, StdioClientTransport)];
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

function take(client, name, told, asked) {
  if (name === 'asked') return asked;
  if (lists[name]) return pages(client, lists[name]);
  if (name === 'prompts/get') return client.getPrompt(told);
  if (name === 'resources/read') return client.readResource(told);
  if (name.startsWith('progress:')) return withProgress(client, name.slice('progress:'.length), told);
  return client.callTool({ name, arguments: told });
}

async function run([url, key, era, ...steps]) {
  const asked = steps.includes('asked') ? { sampling: 0, elicitation: 0, roots: 0 } : undefined;
  const capabilities = asked ? { sampling: {}, elicitation: {}, roots: {} } : {};
  const [client, transport] = await connectable(url, key, era, capabilities);
  if (asked) await answer(client, asked);
  await step('connect', () => client.connect(transport));
  await step('list', () => client.listTools());
  for (let at = 0; at < steps.length; at += 2) {
    await step(steps[at], () => take(client, steps[at], JSON.parse(steps[at + 1]), asked));
  }
  await step('close', () => client.close());
}

while (rest.length > 0) {
  const end = rest.indexOf('--');
  await run(rest.splice(0, end < 0 ? rest.length : end));
  rest.shift();
}
process.exit(0);
