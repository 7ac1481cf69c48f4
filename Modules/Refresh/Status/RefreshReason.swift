/// The reason of an attempt to refresh.
public enum RefreshReason: String, Sendable, Hashable, CaseIterable {
  /// The refresher was started or enabled again, a started refresher got the registration of a list, or the program
  /// called `refresh` or `read` with `onlyIfStale`.
  case start
  /// A date of the schedule was reached, or the delay after a failure or a cancelled attempt has ended, or the lease of
  /// another process.
  case schedule
  /// A fetch found stale data.
  case staleFetch
  /// The connectivity is online again.
  case online
  /// The program called `refresh` or `read` without `onlyIfStale`.
  case request
}
