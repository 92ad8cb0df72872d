import type { IncomingMessage } from 'node:http';

import express from 'express';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Logger } from 'pino';

import type { HealthCheck, ReviewHandler } from './contract.js';
import { rootReport, singleReport } from './health.js';
import type { HealthReport } from './health.js';
import type { Metrics, Route } from './metrics.js';
import { BodyBudget, declaresTooMuch, readBody } from './request-body.js';
import { refuse, sendText, statusDocument } from './status-reply.js';

export interface AppOptions {
  readonly live: readonly HealthCheck[];
  readonly ready: readonly HealthCheck[];
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Absent on the plain port, which answers health and metrics only. */
  readonly validate?: {
    readonly review: ReviewHandler;
    readonly maxBodyBytes: number;
    /** `performance.now()` when this request's headers were in. */
    receivedAt(req: IncomingMessage): number;
  };
}

const JSON_TYPE = 'application/json';
const TEXT_TYPE = 'text/plain; charset=utf-8';

/** The routes of one port. Every answer is whole and of a known type, errors included; none shows a stack trace. */
export function createApp(options: AppOptions): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.use((req, res, next) => {
    res.once('finish', () => options.metrics.recordRequest(routeOf(req.path), res.statusCode));
    next();
  });
  if (options.validate !== undefined) mountValidate(app, options.validate);
  mountHealth(app, 'livez', options.live);
  mountHealth(app, 'readyz', options.ready);
  mountMetrics(app, options.metrics);
  app.use((req, res) => refuse(req, res, 404, 'there is nothing at this path'));
  app.use(errorHandler(options.log));
  return app;
}

/** Largest bodies that may be held at once: far more than the API server has under way, far less than a container has. */
const LARGEST_BODIES = 16;

function mountValidate(app: Express, validate: NonNullable<AppOptions['validate']>): void {
  const budget = new BodyBudget(LARGEST_BODIES * validate.maxBodyBytes);
  app.post('/validate', (req, res) => answerReview(req, res, validate, budget));
  app.all('/validate', (req, res) => methodNotAllowed(req, res, 'POST'));
}

async function answerReview(
  req: Request,
  res: Response,
  validate: NonNullable<AppOptions['validate']>,
  budget: BodyBudget,
): Promise<void> {
  const { maxBodyBytes } = validate;
  const tooLarge = `the body is larger than ${maxBodyBytes} bytes; nothing was reviewed`;
  if (!isJson(req)) return refuse(req, res, 415, `send an AdmissionReview as ${JSON_TYPE}, without content encoding`);
  if (declaresTooMuch(req, maxBodyBytes)) return refuse(req, res, 413, tooLarge);
  if (req.headers.expect !== undefined && req.httpVersion === '1.1') res.writeContinue();
  const body = await readBody(req, maxBodyBytes, budget);
  if (body.kind === 'too-large') return refuse(req, res, 413, tooLarge);
  if (body.kind === 'crowded') return refuse(req, res, 503, 'too many large reviews are under way; try again');
  if (body.kind !== 'read') return;
  try {
    const reply = await validate.review({
      body: body.text,
      timeout: firstOf(req.query['timeout']),
      receivedAt: validate.receivedAt(req),
      signal: goneSignal(res),
    });
    sendText(res, reply.status, JSON_TYPE, reply.body);
  } finally {
    budget.give(body.bytes);
  }
}

/** Only the media type counts: parameters such as charset are tolerated (P1). */
function isJson(req: Request): boolean {
  const type = req.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const encoding = req.headers['content-encoding'] ?? 'identity';
  return type === JSON_TYPE && encoding === 'identity';
}

function firstOf(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' ? first : undefined;
}

function goneSignal(res: Response): AbortSignal {
  const controller = new AbortController();
  const check = (): void => {
    if (!res.writableFinished) controller.abort();
  };
  if (res.destroyed) check();
  else res.once('close', check);
  return controller.signal;
}

function mountHealth(app: Express, endpoint: 'livez' | 'readyz', checks: readonly HealthCheck[]): void {
  app.get(`/${endpoint}`, async (req, res) => {
    const query = { verbose: 'verbose' in req.query, exclude: strings(req.query['exclude']) };
    sendReport(res, await rootReport(endpoint, checks, query));
  });
  app.get(`/${endpoint}/:name`, async (req, res, next) => {
    const check = checks.find(({ name }) => name === req.params.name);
    if (check === undefined) return next();
    const { name, own } = check;
    sendReport(res, await singleReport('own' in req.query && own !== undefined ? { name, check: own } : check));
  });
  app.all([`/${endpoint}`, `/${endpoint}/:name`], getOnly);
}

function strings(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((entry) => typeof entry === 'string');
}

function sendReport(res: Response, report: HealthReport): void {
  res.setHeader('Cache-Control', 'no-cache, private');
  sendText(res, report.status, TEXT_TYPE, report.text);
}

function mountMetrics(app: Express, metrics: Metrics): void {
  app.get('/metrics', async (_req, res) => {
    sendText(res, 200, metrics.registry.contentType, await metrics.registry.metrics());
  });
  app.all('/metrics', getOnly);
}

/** For the methods that the route before did not take; an unknown name below a health path stays a 404. */
function getOnly(req: Request, res: Response, next: NextFunction): void {
  if (req.method === 'GET' || req.method === 'HEAD') return next();
  methodNotAllowed(req, res, 'GET, HEAD');
}

function methodNotAllowed(req: Request, res: Response, allow: string): void {
  res.setHeader('Allow', allow);
  refuse(req, res, 405, `${req.method} is not allowed here; allowed: ${allow}`);
}

/** Express knows an error handler by its four parameters. Requests that express itself can't read carry a 4xx status. */
function errorHandler(log: Logger) {
  return (error: unknown, req: Request, res: Response, _next: NextFunction): void => {
    const code = clientStatusOf(error);
    if (code !== undefined) return refuse(req, res, code, 'the request cannot be read');
    log.error({ err: error, route: routeOf(req.path) }, 'request failed');
    if (res.headersSent) {
      res.destroy();
      return;
    }
    sendText(res, 500, JSON_TYPE, statusDocument(500, 'the request failed inside rendergate; its log has the cause'));
  };
}

function clientStatusOf(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}

function routeOf(path: string): Route {
  const first = path.split('/', 2)[1];
  return first === 'validate' || first === 'livez' || first === 'readyz' || first === 'metrics' ? first : 'other';
}
