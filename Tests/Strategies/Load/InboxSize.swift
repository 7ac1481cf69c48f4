@testable import CoherenceCore

extension ManagedObjectContext {
  /// How much others saved that this context did not take in yet. May be asked from anywhere.
  var inboxSize: Int { inbox.size }

  static var largestAllowedInbox: Int { Inbox.bound }
}
