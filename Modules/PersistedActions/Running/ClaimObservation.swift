/// The claims of other workers, each with the time at which this worker first read its present number of heartbeats.
///
/// The times come from this worker's clock for intervals. Changes of a computer's date therefore never make a living
/// worker seem stopped.
struct ClaimObservation {
  private var firstSeen: [ObservedClaim: Duration] = [:]
  /// The time of the last read of the claims.
  private(set) var lastRead: Duration?

  /// Whether other workers may have claimed actions since the last read.
  private var isOutdated = false

  /// Whether the claims must be read again: other workers had claims at the last read, or may have claimed actions
  /// since.
  var needsRead: Bool { isOutdated || !firstSeen.isEmpty }

  /// Records that other workers may have claimed actions since the last read. Call it when this worker wakes for a
  /// signal or a due date, which wake the other workers too.
  mutating func expectClaims() { isOutdated = true }

  /// Adds a read of the claims.
  ///
  /// - Returns: The claims whose workers have sent no heartbeat for a whole lease.
  mutating func note(_ claims: Set<ObservedClaim>, at time: Duration, leaseLength: Duration) -> Set<ObservedClaim> {
    lastRead = time
    isOutdated = false
    firstSeen = Dictionary(uniqueKeysWithValues: claims.map { ($0, firstSeen[$0] ?? time) })
    return claims.filter { claim in firstSeen[claim].map { time - $0 >= leaseLength } ?? false }
  }

  /// Removes claims after their actions were taken over.
  mutating func remove(_ claims: Set<ObservedClaim>) {
    for claim in claims { firstSeen[claim] = nil }
  }
}
