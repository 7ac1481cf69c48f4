public import CoherenceCore

extension HTTPFailure: AvailabilityReporting {
  /// Whether no reply came, or a reply of a service that takes no requests at present: with the status 429, 502, 503 or
  /// 504. False for a reply that the client refuses, such as a body above its limit, and for a request that it cannot
  /// send.
  public var isServiceUnavailable: Bool { status.map(Self.unavailableStatuses.contains) ?? !isRefusal }

  private static let unavailableStatuses: Set<Int> = [429, 502, 503, 504]
}
