package operators

// Sentence is one clause of a [Why] in English, with the names of its fields in braces. It is its own key in the catalogs
// of other languages. The sentences of all layers stand here, once.
//
// Fields of these names have values of a closed list, which a page has in words: state, mode, day, rule. A reason is a
// text of whoever gave it, unless a rule says it, too.
type Sentence string

// Why a channel starts no contacts, and why a contact waits.
const (
	TextDeleting        Sentence = "channel {channel} is being deleted; its contacts are being canceled"
	TextHeld            Sentence = "Weir was started with --paused; weir resume starts its channels"
	TextPaused          Sentence = "channel {channel} is paused"
	TextShuttingDown    Sentence = "the process that runs the channel is shutting down; the next one to run it goes on"
	TextError           Sentence = "channel {channel} is in error: {reason}; next try at {at}"
	TextUnavailable     Sentence = "channel {channel} is {state}: {reason}"
	TextPreparing       Sentence = "the provider of channel {channel} is being set up"
	TextDispatches      Sentence = "channel {channel}: {sends} dispatches to the provider are under way, the limit at one time"
	TextRate            Sentence = "channel {channel}: its rate limit of {rate} per second is used up"
	TextRateLowered     Sentence = "channel {channel}: the provider answered that it gets too many at one time; limited to {rate} per second for now"
	TextNextAt          Sentence = "the next is dispatched at {at}"
	TextProbing         Sentence = "the provider failed; a single contact probes whether it works again"
	TextProviderPause   Sentence = "the provider asked for a pause until {at}"
	TextFaulted         Sentence = "the provider keeps failing; next try at {at}"
	TextFailing         Sentence = "the provider fails; next try at {at}"
	TextReason          Sentence = "{reason}" // in the words of whoever gave it, or of the rule
	TextTurnHasCome     Sentence = "its turn has come"
	TextStarting        Sentence = "queued; the channel's broker is starting"
	TextTooLarge        Sentence = "it takes {size} slots and channel {channel} has {capacity}; raise the capacity, or cancel it"
	TextTooLargeReserve Sentence = "it takes {size} slots and channel {channel} has {capacity}, {reserve} of them kept for replies; raise the capacity, or cancel it"
	TextLarger          Sentence = "{count} contacts are larger than the capacity of channel {channel}, which is {capacity}"
	TextLargerReserve   Sentence = "{count} contacts are larger than the capacity of channel {channel}, which is {capacity}, {reserve} of them kept for replies"
	TextPerson          Sentence = "until {at}: {reason}"
	TextAttemptDue      Sentence = "attempt {attempt} is due at {at}"
	TextNotBefore       Sentence = "its window opens at {at}"
	TextNextDue         Sentence = "the next contact is due at {at}"
	TextReplyReserve    Sentence = "channel {channel}: {used} of {capacity} slots in use; the free ones are kept for replies"
	TextSlots           Sentence = "channel {channel}: {used} of {capacity} slots in use"
	TextTakes           Sentence = "it takes {size}"
	TextCancelTooLate   Sentence = "cancellation came too late; awaiting delivery report"
	TextCanceling       Sentence = "cancellation requested; its slots are held until the provider is certainly done with it"
	TextDispatching     Sentence = "being dispatched to the provider since {at}"
	TextResultLost      Sentence = "the result of its dispatch was lost"
	TextResultLostBy    Sentence = "the result of its dispatch was lost ({reason})"
	TextNextCheck       Sentence = "next check at {at}"
	TextLostAt          Sentence = "marked lost at {at} if still unknown"
	TextReport          Sentence = "awaiting delivery report; next check at {at}; marked lost at {lost_at} if still unknown"

	// What goes before a waiting contact.
	TextAheadHigher        Sentence = "{higher} of higher priority ahead"
	TextAheadOne           Sentence = "1 contact ahead"
	TextAhead              Sentence = "{older} contacts ahead"
	TextAheadMore          Sentence = "more than {older} contacts ahead"
	TextAheadHigherAndOne  Sentence = "{higher} of higher priority and 1 contact ahead"
	TextAheadHigherAnd     Sentence = "{higher} of higher priority and {older} contacts ahead"
	TextAheadHigherAndMore Sentence = "{higher} of higher priority and more than {older} contacts ahead"

	// A brake has acted.
	TextChannelOptedOut Sentence = "channel {channel} paused itself: {count} of the last {of} contacts opted out, the bound is {percent} %"
	TextChannelFailed   Sentence = "channel {channel} paused itself: {count} of the last {of} contacts failed, the bound is {percent} %"
	TextChannelReason   Sentence = "channel {channel} paused itself: {count} of the last {of} contacts ended with the reason \"{reason}\", the bound is {percent} %"
	TextSurveyOptedOut  Sentence = "the survey paused itself: {count} of the last {of} contacts opted out, the bound is {percent} %"
	TextSurveyFailed    Sentence = "the survey paused itself: {count} of the last {of} contacts failed, the bound is {percent} %"
	TextSurveyReason    Sentence = "the survey paused itself: {count} of the last {of} contacts ended with the reason \"{reason}\", the bound is {percent} %"
)

// Why a survey contacts nobody, and why a respondent waits.
const (
	TextDraft           Sentence = "a draft contacts no respondents; launch it"
	TextSurveyStopping  Sentence = "the survey is stopping; its respondents are being canceled"
	TextBroken          Sentence = "the definition cannot be run:"
	TextMistake         Sentence = "{pointer}: {mistake}"
	TextMoreMistakes    Sentence = "{count} more"
	TextSurveyPaused    Sentence = "the survey is paused"
	TextRulesFailed     Sentence = "its rules failed; the survey is tried again at {at}"
	TextTarget          Sentence = "target reached ({completed} completed); {active} in progress"
	TextScheduleOpens   Sentence = "the schedule opens at {at} ({day} {time} {zone})"
	TextScheduleOver    Sentence = "the schedule does not open again"
	TextAllStarted      Sentence = "all respondents started; {active} in progress"
	TextBatch           Sentence = "pacing limit reached: {active} of {batch} respondents in progress"
	TextAllDelayed      Sentence = "every pending respondent is delayed, outside their contact hours, or their quota is full"
	TextNextStep        Sentence = "next step at {at}"
	TextChannelGone     Sentence = "channel {channel} does not exist any more"
	TextUnfit           Sentence = "{mistake}"
	TextMinute          Sentence = "the limit of {limit} a minute is reached; the next is contacted at {at}"
	TextBudget          Sentence = "its budget is spent: {spent} of {budget} {currency}, and a contact for {cost} more would exceed it; whoever was contacted may answer until the next attempt is due; then the survey ends"
	TextContactTooLarge Sentence = "a contact takes {size} slots and channel {channel} has {room} for it"
	TextClosesSoon      Sentence = "the window closes at {at}, before channel {channel} could dispatch another contact"
	TextNoRoom          Sentence = "channel {channel}: {used} of {capacity} slots in use; {ours} of surveys and {others} of others wait"
	TextFiguresUnread   Sentence = "the figures of channel {channel} could not be read"
	TextContactEnded    Sentence = "its contact has ended; the next step follows at once"
	TextQuotaFull       Sentence = "its quota is full; it is about to be rejected"
	TextNotItsTurn      Sentence = "respondents are being contacted; it is not its turn yet"
	TextItsContact      Sentence = "its contact:" // the clauses of the contact follow
	TextDelayed         Sentence = "delayed until {at}: outside the person's hours, its channel had no room, or its contact could not be built"
	TextNotBuilt        Sentence = "delayed until {at}: its contact could not be built"
	TextWaitsForAnswer  Sentence = "waiting for an answer until {at} ({day} {time} {zone}); no attempt is left after that"
	TextStepWhenOpen    Sentence = "its next step is due when the schedule opens at {at} ({day} {time} {zone})"
	TextFirstAttempt    Sentence = "the first attempt by {mode} is due at {at} ({day} {time} {zone})"
	TextAttemptBy       Sentence = "attempt {attempt} by {mode} is due at {at} ({day} {time} {zone})"
)

// Why a job of the router waits.
const (
	TextScheduled            Sentence = "scheduled for {at}"
	TextActivation           Sentence = "waiting for activation: set its matching mode to queueAndMatch"
	TextClassifying          Sentence = "being classified"
	TextClassificationFailed Sentence = "classification failed: reclassify the job, or change its labels, queue or policy"
	TextCompleted            Sentence = "completed, not closed yet"
	TextOffered              Sentence = "offered to worker {worker}; the offer expires at {at}"
	TextSuspended            Sentence = "matching is suspended: set its matching mode to queueAndMatch"
	TextQueueClosed          Sentence = "queue {queue} is closed"
	TextScoring              Sentence = "waiting for the scores of a scoring function"
	TextNoWorker             Sentence = "no worker of queue {queue} serves channel {channel}"
	TextNoMatch              Sentence = "no worker of queue {queue} matches the selectors of the job"
	TextNeedsNumber          Sentence = "no worker ever can: {selector} needs a number"
	TextNeedsValue           Sentence = "no worker ever can: {selector} needs a value"
	TextDeclined             Sentence = "each available worker that matches ({count}) declined the job or let its offer expire"
	TextWorkersAway          Sentence = "no worker that matches is available ({count} unavailable)"
	TextWorkersBusy          Sentence = "all workers that match are busy ({count}); {ahead} jobs of queue {queue} are ahead"
)
