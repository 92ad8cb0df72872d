import { shown } from './faults.js';

/**
 * Sample expressions of raw lines: `fetch(args),converter(args)`. Only what is named here passes, because HAProxy has
 * fetches and converters that read the environment, files (`map`, `jwt_verify`), Lua, or other tenants' tables, and
 * opens those files while it checks (DESIGN 8). Every function returns the reason of a refusal, or undefined.
 */

const FETCHES: ReadonlySet<string> = new Set([
  ...words('always_false always_true bin bool date int ipv4 ipv6 meth rand str uuid'),
  ...words('base base32 baseq method path pathq query url url32 url_ip url_param url_port urlp urlp_val'),
  ...words('hdr hdr_cnt hdr_ip hdr_val req.hdr req.hdr_cnt req.hdr_ip req.hdr_names req.hdr_val req.fhdr req.fhdr_cnt'),
  ...words(
    'cook cook_cnt cook_val cookie req.cook req.cook_cnt req.cook_val req.ver req_ver req.body_len req.body_size',
  ),
  ...words(
    'res.hdr res.hdr_cnt res.hdr_ip res.hdr_names res.hdr_val res.fhdr res.fhdr_cnt res.cook res.cook_cnt res.cook_val',
  ),
  ...words('res.ver resp_ver shdr shdr_cnt shdr_ip shdr_val scook scook_cnt scook_val status'),
  ...words('capture.req.method capture.req.uri capture.req.ver capture.res.ver http_first_req'),
  ...words('src src_port src_is_local dst dst_port fc_http_major be_name srv_id srv_name unique-id'),
  ...words('ssl_fc ssl_fc_alpn ssl_fc_cipher ssl_fc_has_crt ssl_fc_has_sni ssl_fc_protocol ssl_fc_sni'),
  ...words('ssl_c_i_dn ssl_c_s_dn ssl_c_serial ssl_c_sha1 ssl_c_used ssl_c_verify var'),
  // Short forms of ACLs: path_beg is `path -m beg`.
  ...words('base cook hdr path scook shdr url urlp').flatMap((name) =>
    words('beg dir dom end len reg sub').map((method) => `${name}_${method}`),
  ),
]);

const CONVERTERS: ReadonlySet<string> = new Set([
  ...words(
    'bool bytes cpl crc32 cut_crlf digest djb2 even field hex hex2i host_only http_date iif ipmask json json_query',
  ),
  ...words(
    'jwt_header_query jwt_payload_query language length lower ltime ltrim neg not odd port_only regsub rtrim sdbm',
  ),
  ...words('sha1 sha2 upper url_dec url_enc utime word wt6 xxh3 xxh32 xxh64 b64dec base64 ub64dec ub64enc'),
]);

/** Converters whose argument is a number or the name of a variable. */
const ARITHMETIC: ReadonlySet<string> = new Set(words('add and div mod mul or sub xor'));

/**
 * `proc.` is shared by all tenants, and `sess.` by all requests of a client's connection, which may belong to several:
 * one could plant values that another one trusts.
 */
const VARIABLE = /^(txn|req|res)\.[A-Za-z0-9_.]+$/;

/** Blanks of any number, printable, none of the characters that HAProxy's argument parser gives a meaning to. */
const ARGUMENT = /^[^()'"\\%]*$/;

const CALL = /([a-z0-9_.-]+)(?:\(([^()]*)\))?(,|$)/y;

/** `source` stands alone in its word. */
export function refuseExpression(source: string): string | undefined {
  let at = 0;
  for (let first = true; first || at < source.length; first = false) {
    CALL.lastIndex = at;
    const call = CALL.exec(source);
    if (call === null) return `${shown(source)} is no plain sample expression`;
    const [whole, name = '', argument, comma] = call;
    const refusal = first ? refuseFetch(name, argument) : refuseConverter(name, argument);
    if (refusal !== undefined) return refusal;
    at += whole.length;
    if (comma === ',' && at === source.length) return `${shown(source)} ends in a comma`;
  }
  return undefined;
}

function refuseFetch(name: string, argument: string | undefined): string | undefined {
  if (!FETCHES.has(name)) return `the sample fetch ${shown(name)} is not allowed`;
  if (name === 'var') return refuseVariable(argument ?? '');
  return refuseArgument(argument);
}

function refuseConverter(name: string, argument: string | undefined): string | undefined {
  if (name === 'set-var') return refuseVariable(argument ?? '');
  if (ARITHMETIC.has(name)) return /^-?\d+$/.test(argument ?? '') ? undefined : refuseVariable(argument ?? '');
  if (!CONVERTERS.has(name)) return `the converter ${shown(name)} is not allowed`;
  return refuseArgument(argument);
}

function refuseArgument(argument: string | undefined): string | undefined {
  if (argument === undefined || ARGUMENT.test(argument)) return undefined;
  return `the argument ${shown(argument)} holds a quote, a backslash or a percent sign`;
}

export function refuseVariable(name: string): string | undefined {
  if (VARIABLE.test(name)) return undefined;
  return `the variable ${shown(name)} is not allowed: only those of txn, req and res are`;
}

/** `%ci` and the like: what a tenant learns from its own requests anyway. */
const FORMAT_NAMES: ReadonlySet<string> = new Set(words('b ci cp f fi fp HM HP HQ HU HV ID rc s t T Ts'));

const FORMAT_PART = /%(?:%|(?:\{[-+A-Z,]*\})?(?:\[([^[\]]*)\]|([A-Za-z]+)))/y;

/** A word in which HAProxy evaluates log-format. */
export function refuseFormat(format: string): string | undefined {
  for (let at = format.indexOf('%'); at !== -1; at = format.indexOf('%', at)) {
    FORMAT_PART.lastIndex = at;
    const part = FORMAT_PART.exec(format);
    if (part === null)
      return `${shown(format.slice(at))} is no plain format expression (a percent sign itself is written %%)`;
    const [whole, expression, name] = part;
    if (expression !== undefined) {
      const refusal = refuseExpression(expression);
      if (refusal !== undefined) return refusal;
    }
    if (name !== undefined && !FORMAT_NAMES.has(name)) return `the format variable ${shown(`%${name}`)} is not allowed`;
    at += whole.length;
  }
  return undefined;
}

function words(list: string): readonly string[] {
  return list.split(' ');
}
