import Foundation
import Synchronization

/// An object that lives as long as a thread, because the thread's dictionary retains it.
final class ThreadLifetime {
  private struct Reference { weak var contexts: ThreadContexts? }
  /// The collections to notify when the thread ends.
  private var listeners: [Reference] = []

  private init() {}

  deinit { for listener in listeners { listener.contexts?.remove(ObjectIdentifier(self)) } }

  /// The lifetime of the calling thread.
  static var current: ThreadLifetime {
    let dictionary = Thread.current.threadDictionary
    if let existing = dictionary[key] as? ThreadLifetime { return existing }
    let made = ThreadLifetime()
    dictionary[key] = made
    return made
  }

  private static let key = "coherence.mapping.thread"

  /// Notifies a collection when the thread ends.
  func notifyAtEnd(_ contexts: ThreadContexts) {
    listeners.removeAll { $0.contexts == nil }
    listeners.append(Reference(contexts: contexts))
  }
}
