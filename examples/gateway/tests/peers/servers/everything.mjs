// everything.mjs PACKAGES JSON_PORT SSE_PORT: the everything server of the TypeScript SDK on 127.0.0.1, in both modes
// of answering, without sessions. Its own front knows one mode.
import { createServer as listen } from 'node:http';
import { pathToFileURL } from 'node:url';

const [, , packages, ...ports] = process.argv;
const load = (path) => import(pathToFileURL(`${packages}/node_modules/@modelcontextprotocol/${path}`).href);
const { createServer } = await load('server-everything/dist/server/index.js');
const { StreamableHTTPServerTransport } = await load('sdk/dist/esm/server/streamableHttp.js');

async function answer(request, response, enableJsonResponse) {
  const { server, cleanup } = createServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse });
  response.on('close', () => server.close().then(() => cleanup()));
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

[true, false].forEach((isJson, nth) => {
  const server = listen((request, response) => {
    if (request.method === 'POST') answer(request, response, isJson);
    else response.writeHead(405, { allow: 'POST' }).end();
  });
  server.listen(Number(ports[nth]), '127.0.0.1');
});
