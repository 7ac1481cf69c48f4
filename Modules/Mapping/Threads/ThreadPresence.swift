import Foundation
import Synchronization

/// Stands for a thread for as long as it lives: the thread's dictionary holds it.
final class ThreadPresence {
  private struct Reference { weak var contexts: ThreadContexts? }
  /// Who is to be told of the thread's end.
  private var listeners: [Reference] = []

  private init() {}

  deinit { for listener in listeners { listener.contexts?.remove(ObjectIdentifier(self)) } }

  /// The calling thread's.
  static var current: ThreadPresence {
    let dictionary = Thread.current.threadDictionary
    if let known = dictionary[key] as? ThreadPresence { return known }
    let made = ThreadPresence()
    dictionary[key] = made
    return made
  }

  private static let key = "coherence.mapping.presence"

  func tellOfEnd(_ contexts: ThreadContexts) {
    listeners.removeAll { $0.contexts == nil }
    listeners.append(Reference(contexts: contexts))
  }
}
