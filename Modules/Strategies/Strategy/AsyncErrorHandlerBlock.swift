/// Is told of an error that nobody waits for: one of a background task that was started without a completion, or one
/// that a strategy met while it carried changes from context to context. May be called on any thread.
public typealias AsyncErrorHandlerBlock = @Sendable (any Error) -> Void
