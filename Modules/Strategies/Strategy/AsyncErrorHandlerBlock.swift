/// Receives an error of work without a waiting caller: the error of a background task without a completion, or of the
/// propagation of changes between contexts. May be called on any thread.
public typealias AsyncErrorHandlerBlock = @Sendable (any Error) -> Void
