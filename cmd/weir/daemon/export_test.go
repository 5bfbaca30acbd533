package daemon

// AwaitRoom is awaitRoom.
var AwaitRoom = awaitRoom
