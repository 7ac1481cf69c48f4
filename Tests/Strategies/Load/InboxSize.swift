@testable import CoherenceCore

extension ManagedObjectContext {
  /// The number of unapplied saves of other contexts. May be read from any thread.
  var inboxSize: Int { inbox.size }

  static var largestAllowedInbox: Int { Inbox.bound }
}
