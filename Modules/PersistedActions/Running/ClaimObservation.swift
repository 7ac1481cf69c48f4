/// The claims of other workers at the last read, and whether the claims must be read again.
struct ClaimObservation {
  private var claims = HeartbeatObservation<ObservedClaim>()
  /// The time of the last read of the claims.
  private(set) var lastRead: Duration?

  /// Whether other workers may have claimed actions since the last read.
  private var isOutdated = false

  /// Whether the claims must be read again: other workers had claims at the last read, or may have claimed actions
  /// since.
  var needsRead: Bool { isOutdated || !claims.isEmpty }

  /// Records that other workers may have claimed actions since the last read. Call it when this worker wakes for a
  /// signal or a due date, which wake the other workers too.
  mutating func expectClaims() { isOutdated = true }

  /// Adds a read of the claims.
  ///
  /// - Returns: The claims whose workers have sent no heartbeat for a whole lease.
  mutating func note(_ claims: Set<ObservedClaim>, at time: Duration, leaseLength: Duration) -> Set<ObservedClaim> {
    lastRead = time
    isOutdated = false
    return self.claims.note(claims, at: time, leaseLength: leaseLength)
  }

  /// Removes claims after their actions were taken over.
  mutating func remove(_ claims: Set<ObservedClaim>) { self.claims.remove(claims) }
}
