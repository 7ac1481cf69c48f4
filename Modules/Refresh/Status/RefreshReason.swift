/// The reason of an attempt to refresh.
public enum RefreshReason: String, Sendable, Hashable, CaseIterable {
  /// The refresher was started or enabled again, or the program called `refresh` or `read` with `onlyIfStale`.
  case start
  /// A date of the schedule was reached, or the delay after a failure has passed.
  case schedule
  /// A fetch found stale data.
  case staleFetch
  /// The connectivity is online again.
  case online
  /// The program called `refresh` or `read` without `onlyIfStale`.
  case request
}
