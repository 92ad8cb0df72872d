/**
 * Words of HAProxy's own messages: what may be shown although it stands in none of the checked files. Gathered from
 * the messages of HAProxy 2.6 and newer, lower case, letters and digits only; a keyword such as `http-request` or
 * `use_backend` is known by its parts. A word that is missing here only costs clarity (it is shown as `…`); a name,
 * an address or a value of anybody's must never be added.
 */
const WORDS = `
1024 16384 32768 4095 4096 65535 65536 8192 a able aborted aborting about absolute absolutely accept acceptable
accepted accepts access account acl acme act action actions active activity add added adding addr address addresses
adjust administratively aead after again against age agent aggregated aggressive ago alert alerts algo algorithm
algorithms alias alignment alive all allocate allocated allocating allocation allocations allow allowed alone alpn
already also always ambiguity ambiguous amount an ana and announced anonymous another answer any anymore app
appeared appears append appended applet application applied apply are arg args argument arguments argv array as
ascii assertion assigned at atomic attach attached attempt attr attribute auth authorized auto automatic
automatically available avalanche avg avoid back backend backends backing backlog backup bad balance balancing base
based basic be because become been before beg beginning belonging belongs below better between big binary bind
binding bio bit bits blank block blocked blocking body bodyless boolean both bound brace bracket brackets branch
break browser buffer buffers bufsize bug build built bundle busy but by byaddr byte bytes ca cache cafile call
callback calls can cannot capability capture cas case cast cause caused causing cert certainly certcache certfile
certificate certificates certs chain change changed channel channels char character characters chars check checkbox
checked checks chunk cip cipher class clear clf cli client clientip close closed closing cluster cn code codes col
collector colons column combinations command commands comment commit compare compatible compilation compiled
complete compression compressor compute con cond condition conditional conditionally conditions conf config
configuration configure configured conflict conflicts conn connect connection connections connrate conns consider
considered consistent construct contain contained containing contains content contents context contiguous
continuation continuing control converter cookie cookies copy core correct corrupted could couldn count counter
counters counts cpath cpu cpus crash crc create created creation crl crls crt crtlist crtstore crypt cspoe ctype cur
current currently curve curves custom data datagram date days dbuf dead death debug debugging declaration declare
declared declaring decode decoding decompress default defaults defer define defined defines defining definitions del
delay delete deleted delimited denied deny dependency depending deprecated depth dereference desc description
descriptor descriptors designated desired destination detailed details detect detected developer developers device
did didn differ different digest digit digits dir direction directive directives directory disable disabled
disabling discouraged disjunction dispatch display distinct djb dn dns do document does doesn dom domain don done
dot dotted down draft drain draws drop dst due dump dumpable dumped dumping dup duplicate duplicated duration during
dynamic each earlier early effect effective effects either element elements elif elliptic else elt email embedded
emitted empty enable enabled encode encoded encoding encounter encountered encrypted end endif endpoints engine
enough ensure enter enters entries entry enum env environment equal erorrfile errno erroffset error errorfile errors
errorstr escape establishment etc evaluated evaluation even event events exact exactly exceeds except excluded
exclusive execute executed executing execution exist existence existing exists exit exited exiting exp expansion
expect expectation expected expecting expects experimental expert expiration expire expired explicit explicitly
exporter expose expr express expression extensions external extra extract extracts facility fail failed failure fall
falling families family fastinter fastopen fatal fcgi fdless fds feature feedback fetch fetches fhdr field fields
file filename files filled filter filters fin final find first fix fixed fixing flag flags flg flush fmt followed
following for forbidden force forced forget fork format former forward found fqdn frame frames free from front
frontend frontends frqp full fully function functions further future garbage gauge gb general generally generate
generated generation generator get getelementsbyclassname gid given giving global go goaway going got gpc gpt
greater group groups h1 h2 h3 had half handle handled handler handshake happen haproxy hard has hash have hdr
hdrmask head header headers headroom health here hex hexadecimal hide high highest hint hole host hostname hours how
hpack hrem http http1 http2 httpchk httpclient httpclose httplog httponly httpslog hyphen ibuf id identifier idle
idletime ids idx if ignore ignored ignoring immediately implemented implicit implicitly imposed impossible in inc
include inclusive incoming incompatible incomplete inconsistencies inconsistency increase index indirect inet info
information inherit inherited init initial initialised initialization initialize initialized initializers
initializing inject input ins insecure insert inserting inspect install instead instructions insufficient int
integer intended inter interface interim interlaced internal interval into invalid involves io ip ipv ipv4 ipv6 is
isn issuer issuers it item items its jobs json just jwt kb keep kernel key keys keyword keywords keyworld kill
killing label lacks large larger last latest layer lead least leastconn leaving left legacy len length letters level
levels lf libc library lifetime like likely limit limited limiting limits line lines linger linking list listen
listener listeners listening lists live llx load loaded loading loads local locate location lock locked log
logformat logger logging logical loglevel logs logsrv long longer lookbehind lookup lookups loop looping low lower
lru lua machines mail mailer mailers main maint maintenance make manage mandatory manipulate many map mapped mapping
mapports mark marked mask master match matched matching max maxconn maxidle maximum maxlife maxqueue maxsock
maxsslconn may maybe mb mean means mechanism member memory message meta metatable meth method methods metric
microseconds might milliseconds min minconn minimum minutes mismatch missing mix mixing mode modes modifier module
monitor more most move mpxs mqtt ms msg mss much multi multiple must myhostname name named names nameserver
namespace nature nbproc nbthread nbthreads near need needed needs negation negative negatives neither nested net
netscaler network networks never new next nextupdate no nocache node nodes non nonce none noop nor normal normalizer
not note nothing notify notifying now npn nul null num numa number numbers numeric obj object objects objt observe
observed obsolete occurred occurrence occurrences ocsp octal octet odd of off offload offset ok okc old on once one
oneof ones ongoing online only open opening openssl opentracing oper operating operations operator option optional
optionally options opts or origin orphan other otherwise out outgoing output over overflow overlong overridden
overrides overwriting ownership packed padded padding page panic param parameter parameters params parentheses
parenthesis parse parsed parsing passed password pat path paths pattern patterns pause payload pcre peer peers pem
pend pending per percent perform performing period permission permitted persist persistence pid pidfile pipes placed
please plugin plus pointer pointing polling pool pools port ports pos position positive posix possible possibly post
postgresql postonly pre preceded precise predicate preface prefix prefixed prepare presence present presented
preserve preset prevalence prevent previous previously prio priority private privileges problems process processed
processes processing processor product profiling program progress prometheus properly properties property proto
protocol protocols provided provider providers proxies proxy purge quantifier queries query queue queued quic quiet
quote quotes raise random randomly range ranges rate raw rcv rdp reached read reading ready real realm reason
receipt receive received receiver receiving recognized recommended record redirect redirection redispatch reduce
reexecute ref referenced references refers refine refresh refreshing refused refusing regex register registered regm
reject relative release releases releasing reliably relies reload reloads remaining remains remapped remove removed
removing repeat replace replacement reply report reported reporting reports represents req request requests requeued
require required requires res reserved resize resolution resolutions resolv resolve resolver resolvers resolves
resource resources response responses restart restore restricted result resume retrieve retry return returned
returning returns reusable reuseaddr reused reuses rewrite rewrites rewriting rfc ring rings rise room roundrobin
routed rr rsp rstring rule rules ruleset rulesets running runs runtime s safe same sample samples scan scb sched
schema scheme scope sctl sdbm second secondary seconds section sections security sedesc see select selected send
sender sending sendmsg sent separated sequence server servers service services session sessions sessrate set sets
settimeout setting settings setuid setup severity shadow shadowed shared shift short should shouldn show shown shut
shutdown side sighup sign signal silence silent simultaneous since sinconsistencies single sink sinks size skip
slash sleep slowstart small smaller sni sno so sockaddr socket socketpair sockets socks soft some something source
sources space spaces span sparse special specific specification specified specify spent splice splicing spoe spread
src srv ssl sslrate sslv sstrm stable stack start started starting startup stat state statement statements states
static statistics stats status stdin stding step stick sticking still stop stopped stopping storage store stored str
stray stream streams strict strictly string strings strm structure sub subjectkeyidentifier subjectname submitted
subs subscribing succeeded success successful such sudden suitable suite suites sum support supported supports
supposed sure suspicious switch switching sync syntax syslog system t table tables tag tags tail tailroom target
tarpit task tasklet tasks tcp tcp4 tcp6 tcpcheck tcpchk tcplog temporary term terminated terminating test text
textual tgid than thanks that the their them these they this thread threaded threads three through thus ticket
tickets time timeout timeouts timer timers timestamp title tls to token too top tot total tproxy trace tracer traces
tracing track tracking trailers trailing transaction transfer transferring transitions transmission transparent
transport trash tree tries triggering triplet truncate truncated truncating try trying tunables tune tunnel tunneled
two txn type typed udp udp4 udp6 uid ulimit unable unassigned unblock undefined under underflow underscode
unexpected unexpectedly unhandled unique unix unknown unless unlimited unmatched unparsable unrecognised
unrecoverable unreserved unresolved unsafe unset unspecified unsupported unused unwanted up upcoming update updated
upgrade upgraded uppercase uri url us usable usage use used user userlist username users uses usesrc using usually
utf val valid validate validation validity value values var variable variables various vars vary ver verified verify
version versions via void wait waiter waiters waiting waitl wake waking want wanted wants warn warning warnings was
watchers way we web websocket weight weights were what when which while whole wide width wildcard will window with
within without wno woken won word words work worker working write wrong x509 xferred xprt years yes yet yield
yielded you your zero
`;

const VOCABULARY: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));

/** Whether HAProxy's own messages use this word, in any case. */
export function isCheckerWord(word: string): boolean {
  return VOCABULARY.has(word.toLowerCase());
}
