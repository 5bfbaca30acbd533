// Package config turns the environment into a checked Config, and reports
// every mistake in it at once.
//
// The struct below is the only list of Weir's variables: its tags hold the names,
// the defaults, the allowed values and the documentation. It has no variable that
// is not read.
package config

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"
)

// Config is the configuration of one Weir process, made by [Load].
type Config struct {
	DatabaseURL string `envconfig:"DATABASE_URL" default:"sqlite://weir.db" secret:"true" allowed:"sqlite://FILE or mysql://USER:PASSWORD@HOST:PORT/DATABASE" desc:"where everything is kept"`
	ListenAddr  string `envconfig:"LISTEN_ADDR" default:"127.0.0.1:8080" allowed:"HOST:PORT with a port from 0 to 65535; serve refuses a host that is not loopback while there is no token" desc:"where Weir listens for HTTP"`
	PublicURL   string `envconfig:"PUBLIC_URL" allowed:"an http or https URL with a host and without query or fragment" desc:"the address under which providers reach LISTEN_ADDR; derived from it when absent"`
	TLSCert     string `envconfig:"WEIR_TLS_CERT" allowed:"the path of a PEM file with the certificate, followed by its chain; set together with WEIR_TLS_KEY" desc:"certificate with which Weir serves https itself; read again when the file changes"`
	TLSKey      string `envconfig:"WEIR_TLS_KEY" allowed:"the path of a PEM file with the private key of WEIR_TLS_CERT; set together with it" desc:"private key of WEIR_TLS_CERT"`
	PathPrefix  string `envconfig:"WEIR_PATH_PREFIX" allowed:"a path such as /weir, without a slash at its end, whose first part is none of Weir's own" desc:"what is in front of every path for browsers and clients behind a reverse proxy; Weir answers under it, and without it to proxies that take it away"`

	TrustedProxies Networks `envconfig:"WEIR_TRUSTED_PROXIES" allowed:"addresses and networks such as 127.0.0.1 or 10.0.0.0/8, separated by commas, each at most once" desc:"reverse proxies whose X-Forwarded-For or Forwarded header names the client: limits then hold for each client, not for the proxy"`

	APITokens Tokens `envconfig:"WEIR_API_TOKENS" secret:"true" allowed:"one or more tokens, separated by commas, of printable ASCII without blanks" desc:"tokens that have every scope; others are made by weir token create, and once there is one of either kind every API request must carry one"`
	RateLimit int    `envconfig:"WEIR_RATE_LIMIT" default:"5000" allowed:"0 to 1000000 requests a second; 0: no limit" desc:"how many requests one token may make a second, and one address while no token is needed; twice as many at once"`

	RouterKeys AccessKeys `envconfig:"JOB_ROUTER_ACCESS_KEYS" secret:"true" allowed:"one or more keys, separated by commas, each the base64 form of 8 to 1024 bytes" desc:"access keys with which requests to the job router are signed, several while they are being changed"`

	RouterKeep         Period        `envconfig:"JOB_ROUTER_KEEP_FINISHED" default:"1d" allowed:"1m to 90d; 7d means seven days" desc:"how long finished jobs of the job router can be read; each of them takes about 2 kB of memory until then"`
	EventSubscriptions Subscriptions `envconfig:"JOB_ROUTER_EVENT_SUBSCRIPTIONS" secret:"true" allowed:"one or more http or https URLs, separated by commas (a comma within one is %2C), each at most once and without user or password, and with #eventgrid or #cloudevents at its end where the form is another than JOB_ROUTER_EVENT_FORMAT" desc:"where the events of the job router are posted; http leads to loopback addresses only, unless WEIR_OUTBOUND_ALLOW says otherwise"`
	EventFormat        EventFormat   `envconfig:"JOB_ROUTER_EVENT_FORMAT" default:"eventgrid" allowed:"eventgrid or cloudevents" desc:"form of the events of subscriptions that name none: the schema of Event Grid or CloudEvents 1.0"`
	EventRetention     Period        `envconfig:"WEIR_EVENT_RETENTION" default:"7d" allowed:"25h to 3650d; 7d means seven days" desc:"how long events stay in the log, from which receivers and GET /v1/events read"`
	OutboundAllow      Allowances    `envconfig:"WEIR_OUTBOUND_ALLOW" allowed:"plain, private, and names or addresses of hosts without port, separated by commas" desc:"whom subscriptions, function rules and webhooks may call beside https on public addresses and loopback addresses that are named as such: plain allows http, private allows private addresses, a host allows both for itself"`

	DefaultChannelCapacity int `envconfig:"DEFAULT_CHANNEL_CAPACITY" default:"100" allowed:"1 to 1000000" desc:"capacity of a channel that names none"`

	GCIdle     Minutes `envconfig:"CHNL_BKR_GC_IDLE_MINUTES" default:"2" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"silence after which the provider is asked about a contact"`
	GCInterval Minutes `envconfig:"CHNL_BKR_GC_INTERVAL_MINUTES" default:"2" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"pause between two rounds of asking"`
	LostAfter  Minutes `envconfig:"LOST_AFTER_MINUTES" default:"60" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"how long a contact of unknown outcome holds its slots before it is marked lost"`
	ShutDown   Minutes `envconfig:"SHUT_DOWN_MINUTES" default:"30" allowed:"0.001 to 10080 minutes; fractions are fine" desc:"idle time after which a channel's actor stops; it comes back when it is needed"`

	SettleAfter        Period `envconfig:"WEIR_SETTLE_AFTER" default:"60s" allowed:"10ms to 1h" desc:"how long after a hand-over with an unclear result the provider is asked"`
	SendTimeout        Period `envconfig:"WEIR_SEND_TIMEOUT" default:"15s" allowed:"10ms to 5m" desc:"how long a provider may take to answer a request"`
	SendConcurrency    int    `envconfig:"WEIR_SEND_CONCURRENCY" default:"0" allowed:"0 to 10000; 0: as many as the channel's capacity, up to 4096" desc:"max contacts of one channel that are being dispatched to its provider at the same time; after a crash the fate of that many may be in doubt"`
	CollectConcurrency int    `envconfig:"WEIR_COLLECT_CONCURRENCY" default:"4" allowed:"1 to 1000" desc:"most contacts of one channel about which the provider is asked at the same time"`
	LeaseTTL           Period `envconfig:"WEIR_LEASE_TTL" default:"15s" allowed:"5s to 5m" desc:"how long a process that died keeps its channels before another one takes them"`
	Retention          Period `envconfig:"WEIR_RETENTION" default:"720h" allowed:"1m to 3650d; 30d means thirty days" desc:"how long finished contacts stay readable"`

	BatchSize          int    `envconfig:"BROKER_BATCH_SIZE" default:"10000" allowed:"1 to 1000000000" desc:"most active respondents of a survey that has neither cutoff nor quotas"`
	BatchLimit         int    `envconfig:"BROKER_BATCH_LIMIT_PER_MINUTE" default:"100" allowed:"1 to 1000000000" desc:"most first attempts and retries of a survey in any minute"`
	InitialValid       int    `envconfig:"INITIAL_VALID_RESPONDENT_RATE" default:"100" allowed:"0 to 100 per cent" desc:"share of a survey's numbers that are expected to be in use, until it is known"`
	InitialEligibility int    `envconfig:"INITIAL_ELIGIBILITY_RATE" default:"100" allowed:"0 to 100 per cent" desc:"share of respondents who are expected to be eligible"`
	InitialResponse    int    `envconfig:"INITIAL_RESPONSE_RATE" default:"100" allowed:"0 to 100 per cent" desc:"share of respondents who are expected to answer"`
	ChannelCheck       Period `envconfig:"WEIR_CHANNEL_CHECK_EVERY" default:"5m" allowed:"100ms to 1h" desc:"how often the providers of the channels that surveys use are asked whether they work"`

	Paused      bool `envconfig:"WEIR_PAUSED" default:"false" allowed:"true or false" desc:"whether each start of serve sends nothing, as for a restored copy of the database, until weir resume; serve --paused does so for one start"`
	AutoMigrate bool `envconfig:"WEIR_AUTO_MIGRATE" default:"true" allowed:"true or false" desc:"whether serve brings a MySQL schema up to date by itself; SQLite's it always does"`

	LogLevel  LogLevel  `envconfig:"LOG_LEVEL" default:"info" allowed:"debug, info, warn or error" desc:"the least important lines that are logged"`
	LogFormat LogFormat `envconfig:"LOG_FORMAT" allowed:"text or json" desc:"form of the log; when absent text on a terminal, else json"`

	origins map[string]string // variable → origin of its value
}

// Networks are addresses and networks of hosts.
type Networks []netip.Prefix

// Minutes is a duration that is written as a number of minutes.
type Minutes time.Duration

// Period is a duration that is written with its unit: 15s, 720h, 30d.
type Period time.Duration

// Tokens are secrets of API clients.
type Tokens []string

// Subscription is an address that events are posted to.
type Subscription struct {
	URL    string
	Format EventFormat // empty: the default format
}

// Subscriptions is a list of subscriptions.
type Subscriptions []Subscription

// EventFormat is eventgrid or cloudevents.
type EventFormat string

// Allowances are the destinations that calls to configured addresses may reach.
type Allowances []string

// Plain reports whether http is allowed.
func (a Allowances) Plain() bool { return slices.Contains(a, "plain") }

// Private reports whether private addresses are allowed.
func (a Allowances) Private() bool { return slices.Contains(a, "private") }

// Hosts returns the hosts that are allowed by name or address.
func (a Allowances) Hosts() []string {
	var hosts []string
	for _, word := range a {
		if word != "plain" && word != "private" {
			hosts = append(hosts, word)
		}
	}
	return hosts
}

// AccessKeys are secrets with which requests to the job router are signed.
type AccessKeys [][]byte

// LogLevel is the name of a level of log/slog, in lower case.
type LogLevel string

// LogFormat is text, json or empty.
type LogFormat string

// Duration returns m as a time.Duration.
func (m Minutes) Duration() time.Duration { return time.Duration(m) }

// Duration returns p as a time.Duration.
func (p Period) Duration() time.Duration { return time.Duration(p) }

// Level returns the level for log/slog.
func (l LogLevel) Level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l)) // checked when it was decoded
	return level
}
