public import CoherenceCore

extension ErrorCode {
  /// Another worker has taken over a persisted action, because its first worker sent no heartbeat for longer than its
  /// lease. Nothing of the refused save was written.
  public static let leaseLost = ErrorCode("leaseLost")
}
