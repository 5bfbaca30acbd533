// Package config reads the configuration from environment variables, and reports
// every invalid variable at once.
//
// The struct below is the only list of Weir's variables: its tags hold the names,
// the defaults, the allowed values and the documentation.
package config

import (
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"weir/operators"
	"weir/people"
)

// Config is the configuration of one Weir process, made by [Load].
type Config struct {
	DatabaseURL string `envconfig:"DATABASE_URL" default:"sqlite://weir.db" secret:"true" allowed:"sqlite://FILE, or mysql://USER:PASSWORD@HOST:PORT/DATABASE; several HOST:PORT are separated by commas, each at most once" desc:"database that stores everything"`
	ListenAddr  string `envconfig:"LISTEN_ADDR" default:"127.0.0.1:8080" allowed:"HOST:PORT with a port from 0 to 65535; without any token, serve accepts only a loopback host" desc:"address on which Weir serves HTTP"`
	PeerAddr    string `envconfig:"WEIR_PEER_ADDR" allowed:"HOST:PORT or :PORT, other than LISTEN_ADDR" desc:"address on which this process serves the others of its database, which have to reach it (MySQL, MariaDB); default: the address from which it reaches the database, with a free port"`
	PublicURL   string `envconfig:"PUBLIC_URL" allowed:"an http or https URL with a host and without query or fragment; with WEIR_OIDC_ISSUER set and https, unless it leads to this machine" desc:"URL under which providers reach LISTEN_ADDR; default: derived from it"`
	TLSCert     string `envconfig:"WEIR_TLS_CERT" allowed:"the path of a PEM file with the certificate, followed by its chain; set together with WEIR_TLS_KEY" desc:"TLS certificate; if set, Weir serves https. Reloaded when the file changes"`
	TLSKey      string `envconfig:"WEIR_TLS_KEY" allowed:"the path of a PEM file with the private key of WEIR_TLS_CERT; set together with it" desc:"private key of WEIR_TLS_CERT"`
	PathPrefix  string `envconfig:"WEIR_PATH_PREFIX" allowed:"a path such as /weir, without a slash at its end, that does not begin with a path of Weir" desc:"path prefix behind a reverse proxy; Weir serves its paths with this prefix, and without it for proxies that strip it"`

	TrustedProxies Networks `envconfig:"WEIR_TRUSTED_PROXIES" allowed:"addresses and networks such as 127.0.0.1 or 10.0.0.0/8, separated by commas, each at most once" desc:"reverse proxies whose X-Forwarded-For or Forwarded header is trusted: rate limits then apply to each client instead of the proxy"`

	APITokens Tokens `envconfig:"WEIR_API_TOKENS" secret:"true" allowed:"one or more tokens, separated by commas, of printable ASCII without blanks" desc:"API tokens with every scope; weir token create creates others. As soon as any token exists, every API request needs one"`
	RateLimit int    `envconfig:"WEIR_RATE_LIMIT" default:"5000" min:"0" max:"1000000" allowed:"0 to 1000000 requests a second; 0: no limit" desc:"rate limit of each token, or of each address while no token is needed; bursts may be twice as large"`

	OIDCIssuer        string      `envconfig:"WEIR_OIDC_ISSUER" allowed:"the https URL of an OpenID Connect provider, exactly as it names itself, without query or fragment (http for one on this machine); set together with WEIR_OIDC_CLIENT_ID and WEIR_OIDC_SCOPES" desc:"OpenID Connect provider at which people log in to the dashboard by name. Use the same WEIR_OIDC_ variables in all processes of a database"`
	OIDCClientID      string      `envconfig:"WEIR_OIDC_CLIENT_ID" allowed:"1 to 255 printable ASCII characters without blanks; set together with WEIR_OIDC_ISSUER" desc:"id under which Weir is registered at the provider, with the redirect address PUBLIC_URL/login/oidc/callback"`
	OIDCClientSecret  Secret      `envconfig:"WEIR_OIDC_CLIENT_SECRET" secret:"true" allowed:"1 to 1024 printable ASCII characters without blanks; set together with WEIR_OIDC_ISSUER" desc:"secret of that registration; without it Weir is a public client, which only PKCE protects"`
	OIDCScopes        GroupScopes `envconfig:"WEIR_OIDC_SCOPES" allowed:"1 to 100 GROUP=SCOPE,SCOPE pairs, separated by semicolons, each group at most once and of at most 200 printable characters, such as weir-admins=channels:admin,contacts:write;survey-team=surveys:admin;north=surveys:admin@north-" desc:"scopes of people by their groups at the provider. A person has the scopes of all their groups; who is in none of them is not let in. One such as surveys:admin@north- is limited to names that begin with north-"`
	OIDCGroupsClaim   string      `envconfig:"WEIR_OIDC_GROUPS_CLAIM" default:"groups" allowed:"1 to 200 printable ASCII characters without blanks" desc:"claim of the ID token with the groups: a list of texts, or one text. With email or hd the address or the Workspace domain is the group"`
	OIDCNameClaim     string      `envconfig:"WEIR_OIDC_NAME_CLAIM" allowed:"1 to 200 printable ASCII characters without blanks" desc:"claim of the ID token with the name of a person in logs and the audit log; default: the first of preferred_username, email and sub that the token has"`
	OIDCRequestScopes string      `envconfig:"WEIR_OIDC_REQUEST_SCOPES" default:"openid profile email" allowed:"scopes of the provider, separated by blanks, openid among them" desc:"scopes that Weir requests from the provider; some need groups among them to send groups"`
	OIDCTitle         string      `envconfig:"WEIR_OIDC_TITLE" allowed:"1 to 60 printable characters" desc:"name of the provider on the log-in page; default: the host of WEIR_OIDC_ISSUER"`

	RouterKeys AccessKeys `envconfig:"JOB_ROUTER_ACCESS_KEYS" secret:"true" allowed:"one or more keys, separated by commas, each the base64 form of 8 to 1024 bytes" desc:"access keys that sign requests to the job router; several during key rotation"`
	PeopleKeys AccessKeys `envconfig:"WEIR_PEOPLE_KEY" secret:"true" allowed:"one or more keys, separated by commas, each the base64 form of 8 to 1024 bytes" desc:"key under which addresses of refusals and consents are hashed; several during key rotation, the new one first. Without it one is made and kept in the database, and whoever has a copy of that can find the numbers"`

	RouterKeep         Period        `envconfig:"JOB_ROUTER_KEEP_FINISHED" default:"1d" min:"1m" max:"90d" allowed:"1m to 90d; 7d means seven days" desc:"retention of finished jobs of the job router; each uses about 2 kB of memory"`
	RouterMaxMiB       int           `envconfig:"JOB_ROUTER_MAX_MIB" default:"1024" min:"1" max:"1000000" allowed:"1 to 1000000" desc:"maximum size in MiB of what clients store in the job router (jobs, workers, policies), enough for about a million jobs; more is refused. Each MiB uses up to 4 MiB of memory"`
	EventSubscriptions Subscriptions `envconfig:"JOB_ROUTER_EVENT_SUBSCRIPTIONS" secret:"true" allowed:"one or more http or https URLs, separated by commas (a comma within one is %2C), each at most once and without user or password, and with the suffix #eventgrid or #cloudevents to override JOB_ROUTER_EVENT_FORMAT" desc:"webhooks for events of the job router, at addresses that WEIR_OUTBOUND_ALLOW allows"`
	EventFormat        EventFormat   `envconfig:"JOB_ROUTER_EVENT_FORMAT" default:"eventgrid" allowed:"eventgrid or cloudevents" desc:"default event format of the subscriptions: Event Grid schema or CloudEvents 1.0"`
	EventRetention     Period        `envconfig:"WEIR_EVENT_RETENTION" default:"7d" min:"25h" max:"3650d" allowed:"25h to 3650d; 7d means seven days" desc:"retention of events, for receivers and GET /v1/events"`
	ContactEvents      ContactEvents `envconfig:"WEIR_CONTACT_EVENTS" default:"auto" allowed:"auto, on or off" desc:"when events of contacts and of received messages are written to the log: auto from the first webhook or client of GET /v1/events that wants them, on always, off never. Use the same value in all processes of a database"`
	OutboundAllow      Allowances    `envconfig:"WEIR_OUTBOUND_ALLOW" allowed:"plain, private, loopback, and names or addresses of hosts without port, separated by commas" desc:"additional targets of subscriptions, function rules, webhooks and http gateways, besides https to public addresses: plain allows http, private allows private addresses, loopback allows http and https to this machine, a host name allows all of this for that host; loopback is also allowed while LISTEN_ADDR and PUBLIC_URL are loopback addresses"`

	StopWords   Words `envconfig:"WEIR_STOP_WORDS" allowed:"words, separated by commas, each with a letter or digit and up to 100 bytes" desc:"words by which people refuse, instead of the default ones; a survey may list its own. Use the same words in all processes of a database"`
	StartWords  Words `envconfig:"WEIR_START_WORDS" allowed:"words, separated by commas, each with a letter or digit and up to 100 bytes; none that means yes, which is an answer" desc:"words by which people take a refusal back, instead of the default ones"`
	HelpWords   Words `envconfig:"WEIR_HELP_WORDS" allowed:"words, separated by commas, each with a letter or digit and up to 100 bytes" desc:"words by which people ask who is writing, instead of the default ones; a survey may list its own"`
	StopPhrases Words `envconfig:"WEIR_STOP_PHRASES" allowed:"phrases, separated by commas, each with a letter or digit and up to 100 bytes" desc:"phrases that may be a refusal within a message, instead of the default ones; stop words are always among them"`

	DefaultChannelCapacity int `envconfig:"DEFAULT_CHANNEL_CAPACITY" default:"100" min:"1" max:"1000000" allowed:"1 to 1000000" desc:"capacity (concurrency limit) of channels that set none; a change takes effect at the next start"`

	GCIdle     Minutes `envconfig:"CHNL_BKR_GC_IDLE_MINUTES" default:"2" min:"0.001" max:"10080" allowed:"0.001 to 10080 minutes; fractions are allowed" desc:"time without a report after which the provider is asked about a contact"`
	GCInterval Minutes `envconfig:"CHNL_BKR_GC_INTERVAL_MINUTES" default:"2" min:"0.001" max:"10080" allowed:"0.001 to 10080 minutes; fractions are allowed" desc:"interval of the reconciler"`
	LostAfter  Minutes `envconfig:"LOST_AFTER_MINUTES" default:"60" min:"0.001" max:"10080" allowed:"0.001 to 10080 minutes; fractions are allowed" desc:"how long a contact of unknown outcome holds its slots before it is marked lost"`
	ShutDown   Minutes `envconfig:"SHUT_DOWN_MINUTES" default:"30" min:"0.001" max:"10080" allowed:"0.001 to 10080 minutes; fractions are allowed" desc:"idle time after which the broker of a channel rests: it drops its memory until it is needed"`

	SettleAfter        Period `envconfig:"WEIR_SETTLE_AFTER" default:"60s" min:"10ms" max:"1h" allowed:"10ms to 1h" desc:"delay after a dispatch with unknown result before the provider is asked"`
	SendTimeout        Period `envconfig:"WEIR_SEND_TIMEOUT" default:"15s" min:"10ms" max:"5m" allowed:"10ms to 5m" desc:"timeout of requests to providers and webhooks"`
	SendConcurrency    int    `envconfig:"WEIR_SEND_CONCURRENCY" default:"0" min:"0" max:"10000" allowed:"0 to 10000; 0: as many as the channel's capacity, up to 4096" desc:"maximum number of concurrent dispatches of a channel; after a crash the outcome of as many contacts may be in doubt"`
	CollectConcurrency int    `envconfig:"WEIR_COLLECT_CONCURRENCY" default:"4" min:"1" max:"1000" allowed:"1 to 1000" desc:"maximum number of concurrent status requests of a channel to its provider"`
	LeaseTTL           Period `envconfig:"WEIR_LEASE_TTL" default:"5s" min:"3s" max:"5m" allowed:"3s to 5m" desc:"time after which another process takes the database of one that died (MySQL, MariaDB); above 8s requests get 503 meanwhile, because a standby holds them for 10s"`
	ReplyWithin        Period `envconfig:"WEIR_REPLY_WITHIN" default:"7d" min:"0s" max:"30d" allowed:"0s to 30d; 0s: at any time" desc:"how long after a message of a person a client may queue contacts of priority reply to it, which caps and quiet hours do not delay"`
	Retention          Period `envconfig:"WEIR_RETENTION" default:"720h" min:"1m" max:"3650d" allowed:"1m to 3650d; 30d means thirty days" desc:"retention of finished contacts"`

	BatchSize          int    `envconfig:"BROKER_BATCH_SIZE" default:"10000" min:"1" max:"1000000000" allowed:"1 to 1000000000" desc:"maximum number of active respondents of a survey without cutoff and quotas"`
	BatchLimit         int    `envconfig:"BROKER_BATCH_LIMIT_PER_MINUTE" default:"100" min:"1" max:"1000000000" allowed:"1 to 1000000000" desc:"maximum number of attempts of a survey per minute, retries included"`
	InitialValid       int    `envconfig:"INITIAL_VALID_RESPONDENT_RATE" default:"100" min:"0" max:"100" allowed:"0 to 100 percent" desc:"expected share of valid phone numbers of a survey, until it is measured"`
	InitialEligibility int    `envconfig:"INITIAL_ELIGIBILITY_RATE" default:"100" min:"0" max:"100" allowed:"0 to 100 percent" desc:"expected share of eligible respondents"`
	InitialResponse    int    `envconfig:"INITIAL_RESPONSE_RATE" default:"100" min:"0" max:"100" allowed:"0 to 100 percent" desc:"expected share of respondents who answer"`
	ChannelCheck       Period `envconfig:"WEIR_CHANNEL_CHECK_EVERY" default:"5m" min:"100ms" max:"1h" allowed:"100ms to 1h" desc:"interval of health checks of providers whose channels are used by surveys"`

	Paused      bool `envconfig:"WEIR_PAUSED" default:"false" allowed:"true or false" desc:"start paused, such as on a restored copy of the database: send nothing until weir resume; serve --paused does this for one start"`
	AutoMigrate bool `envconfig:"WEIR_AUTO_MIGRATE" default:"true" allowed:"true or false" desc:"apply schema migrations of MySQL at startup; SQLite is always migrated"`

	LogLevel  LogLevel  `envconfig:"LOG_LEVEL" default:"info" allowed:"debug, info, warn or error" desc:"minimum level of log lines"`
	LogFormat LogFormat `envconfig:"LOG_FORMAT" allowed:"text or json" desc:"log format; default: text on a terminal, otherwise json"`

	OTLPEndpoint       string       `envconfig:"OTEL_EXPORTER_OTLP_ENDPOINT" allowed:"an http or https URL with a host and without user, password, query or fragment" desc:"OpenTelemetry collector; if set, traces are exported to its path /v1/traces, in OTLP over HTTP"`
	OTLPTracesEndpoint string       `envconfig:"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" allowed:"the same" desc:"URL for traces; overrides OTEL_EXPORTER_OTLP_ENDPOINT and is used as it is"`
	OTLPHeaders        Headers      `envconfig:"OTEL_EXPORTER_OTLP_HEADERS" secret:"true" allowed:"NAME=VALUE pairs, separated by commas, with percent-encoded values" desc:"additional headers of requests to the collector, such as its token"`
	OTLPProtocol       string       `envconfig:"OTEL_EXPORTER_OTLP_PROTOCOL" default:"http/protobuf" allowed:"http/protobuf" desc:"protocol of the collector; its port for http/protobuf is usually 4318"`
	OTLPTimeout        Milliseconds `envconfig:"OTEL_EXPORTER_OTLP_TIMEOUT" default:"10000" min:"1" max:"60000" allowed:"1 to 60000 milliseconds" desc:"timeout of a request to the collector"`
	OTelService        string       `envconfig:"OTEL_SERVICE_NAME" default:"weir" allowed:"any text" desc:"name of this service in traces"`
	OTelSampler        string       `envconfig:"OTEL_TRACES_SAMPLER" default:"parentbased_always_on" allowed:"always_on, always_off, traceidratio, or one of these with the prefix parentbased_" desc:"which contacts are traced; with parentbased_, a caller whose request has a traceparent decides for the contact that it sends"`
	OTelSamplerArg     float64      `envconfig:"OTEL_TRACES_SAMPLER_ARG" default:"1" allowed:"0 to 1" desc:"share of the contacts that traceidratio traces"`
	OTelDisabled       bool         `envconfig:"OTEL_SDK_DISABLED" default:"false" allowed:"true or false" desc:"export no traces, whatever the other variables are"`

	origins map[string]string // variable → origin of its value
	files   map[string]string // variable → the file that its value was read from
}

// Networks are addresses and networks of hosts.
type Networks []netip.Prefix

// Minutes is a duration that is written as a number of minutes.
type Minutes time.Duration

// Period is a duration that is written with its unit: 15s, 720h, 30d.
type Period time.Duration

// Milliseconds is a duration that is written as a number of milliseconds.
type Milliseconds int

// Duration returns m as a time.Duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Headers are header fields of requests.
type Headers map[string]string

// Tokens are secrets of API clients.
type Tokens []string

// Secret is a text that is not shown.
type Secret []byte

// GroupScopes are the scopes of people by the names of their groups.
type GroupScopes map[string][]operators.Scope

// Subscription is an address that events are posted to.
type Subscription struct {
	URL    string
	Format EventFormat // empty: the default format
}

// Subscriptions is a list of subscriptions.
type Subscriptions []Subscription

// EventFormat is eventgrid or cloudevents.
type EventFormat string

// ContactEvents is auto, on or off.
type ContactEvents string

// Words are words or phrases of messages; nil: the default ones.
type Words []string

// Words returns the words of the installation.
func (c *Config) Words() *people.Words {
	lists := people.DefaultWordLists()
	for _, l := range []struct {
		into *[]string
		own  Words
	}{{&lists.Stop, c.StopWords}, {&lists.Start, c.StartWords}, {&lists.Help, c.HelpWords}, {&lists.Phrases, c.StopPhrases}} {
		if l.own != nil {
			*l.into = l.own
		}
	}
	return people.NewWords(lists)
}

// Allowances are the destinations that calls to configured addresses may reach.
type Allowances []string

// The words of Allowances that name no host.
const (
	allowPlain    = "plain"
	allowPrivate  = "private"
	allowLoopback = "loopback" // see CallsLoopback
)

// Plain reports whether http is allowed.
func (a Allowances) Plain() bool { return slices.Contains(a, allowPlain) }

// Private reports whether private addresses are allowed.
func (a Allowances) Private() bool { return slices.Contains(a, allowPrivate) }

// Hosts returns the hosts that are allowed by name or address.
func (a Allowances) Hosts() []string {
	return slices.DeleteFunc(slices.Clone(a), func(word string) bool { return word == allowPlain || word == allowPrivate || word == allowLoopback })
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
