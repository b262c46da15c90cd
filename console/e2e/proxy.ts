import http from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReverseProxy = { address: string; stop: () => Promise<void> };

export type ProxyOptions = {
  /** An answer is passed on when it is complete, which that of a stream never is. */
  isCollecting?: boolean;
  /** Answers of its own, by path and query; what it has none for goes on. */
  made?: (path: string) => Buffer | null;
};

export async function startProxy(target: string, options: ProxyOptions = {}): Promise<ReverseProxy> {
  const { isCollecting = false, made } = options;
  const { hostname, port, host, origin } = new URL(target);
  const server = http.createServer((request, response) => {
    const headers = { ...request.headers, host };
    if (headers.origin) headers.origin = origin;
    const { url: path, method } = request;
    const own = made?.(path ?? '/') ?? null;
    if (own) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': own.length });
      response.end(own);
      return;
    }
    const onward = http.request({ hostname, port, path, method, headers }, (answer) => {
      if (!isCollecting) {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
        return;
      }
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        response.end(Buffer.concat(parts));
      });
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}
