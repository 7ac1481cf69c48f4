/// Receives an error that has no caller to throw to: the error of a background task without a completion, or of the
/// propagation of changes between contexts. May be called on any thread.
public typealias AsyncErrorHandlerBlock = @Sendable (any Error) -> Void
