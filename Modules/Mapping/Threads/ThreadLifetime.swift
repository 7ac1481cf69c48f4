import Foundation
import Synchronization

/// An object that lives as long as a thread, because the thread's dictionary retains it. Its `deinit` releases the
/// contexts of the thread. Used on its own thread alone.
final class ThreadLifetime {
  private struct Reference { weak var contexts: ThreadContexts? }
  /// The ``ThreadContexts`` with a context for the thread: one for each manager that the thread has used.
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

  /// Makes a manager's contexts release the context of the thread when the thread ends.
  func notifyAtEnd(_ contexts: ThreadContexts) {
    // A manager that is loaded again makes another context for the thread.
    listeners.removeAll { $0.contexts == nil || $0.contexts === contexts }
    listeners.append(Reference(contexts: contexts))
  }
}
