public import CoherenceCore

extension ErrorCode {
  /// A persisted action was taken over by another worker, because its own worker gave no sign of life for longer than
  /// its lease. Nothing of the refused save was written.
  public static let leaseLost = ErrorCode("leaseLost")
}
