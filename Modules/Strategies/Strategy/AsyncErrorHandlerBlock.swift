/// Receives an error of work without a waiting caller, for example of a background task without a completion. May be
/// called on any thread.
public typealias AsyncErrorHandlerBlock = @Sendable (any Error) -> Void
