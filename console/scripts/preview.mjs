// Serves dist/ the way the binary does (policy, fallback, path prefix) and passes /api on to a running server.
//   FERMI_SERVER=http://127.0.0.1:7070 PORT=5180 PREFIX=/fermi npm run preview
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { extname, join, normalize } from 'node:path';

const DIST = new URL('../dist', import.meta.url).pathname;
const SERVER = new URL(process.env.FERMI_SERVER ?? 'http://127.0.0.1:7070');
const PORT = Number(process.env.PORT ?? 5180);
const PREFIX = (process.env.PREFIX ?? '').replace(/\/$/, '');
const POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'";
const KINDS = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const isServers = (path) => /^\/(api(\/|$)|livez$|readyz$|version$|metrics$)/.test(path);

function pass(request, response, path) {
  const headers = { ...request.headers, host: SERVER.host };
  if (headers.origin) headers.origin = SERVER.origin;
  const onward = http.request(
    { hostname: SERVER.hostname, port: SERVER.port, path, method: request.method, headers },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      // A stream that breaks there breaks here.
      answer.on('close', () => (answer.complete ? response.end() : response.destroy()));
    },
  );
  onward.on('error', () => {
    if (!response.headersSent) response.writeHead(502, { 'content-type': 'text/plain' });
    response.end();
  });
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}

function file(response, path) {
  const name = normalize(path).replace(/^[/\\]+/, '');
  const full = join(DIST, name);
  const isThere = name !== '' && name !== 'index.html' && existsSync(full) && statSync(full).isFile();
  const headers = { 'content-security-policy': POLICY, 'x-content-type-options': 'nosniff' };
  if (isThere) {
    response.writeHead(200, { ...headers, 'content-type': KINDS[extname(full)] ?? 'application/octet-stream' });
    createReadStream(full).pipe(response);
    return;
  }
  if (name.startsWith('assets/')) {
    response.writeHead(404, headers);
    response.end();
    return;
  }
  const up = '../'.repeat(name.split('/').length - 1);
  const html = readFileSync(join(DIST, 'index.html'), 'utf8').replaceAll('="./', `="./${up}`);
  response.writeHead(200, { ...headers, 'content-type': KINDS['.html'], 'cache-control': 'no-cache' });
  response.end(html);
}

http
  .createServer((request, response) => {
    const url = request.url ?? '/';
    if (!url.startsWith(`${PREFIX}/`)) {
      response.writeHead(404);
      response.end();
      return;
    }
    const path = url.slice(PREFIX.length);
    const bare = decodeURI(path.split('?')[0] ?? '/');
    if (isServers(bare)) pass(request, response, path);
    else file(response, bare);
  })
  .listen(PORT, '127.0.0.1', () => console.log(`console http://127.0.0.1:${PORT}${PREFIX}/ → ${SERVER.origin}`));
