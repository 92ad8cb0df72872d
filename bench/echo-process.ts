import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { developmentCertificate } from '../src/server/certificates.js';
import { join } from 'node:path';

/** Entry of a process that answers every POST with its body: what express over HTTPS costs alone. */
const certs = process.argv[2] ?? '';
const { cert, key } = await developmentCertificate(certs, []);
const app = express();
app.disable('etag');
app.disable('x-powered-by');
app.use(express.text({ type: () => true, limit: '7mb' }));
app.post('/validate', (req, res) => res.type('application/json').send(req.body as string));
const server = createServer({ cert, key, keepAliveTimeout: 125_000 }, app);
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ port, healthPort: 0, ca: join(certs, 'ca.crt') });
});
process.on('message', () => process.exit(0));
