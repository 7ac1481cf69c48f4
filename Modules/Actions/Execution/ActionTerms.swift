import CoherenceCore
import Synchronization

/// The options of an action with options, and their consequences.
final class ActionTerms: Sendable {
  /// Without the dependencies.
  let options: ActionOptions
  /// What makes the action equal to others, which must be of its type.
  let identity: ActionIdentity?

  private let unfinished: Mutex<[AnyActionHandle]>

  init(_ options: ActionOptions, of action: any Action) {
    unfinished = Mutex(options.dependencies)
    var options = options
    options.dependencies = []
    self.options = options
    identity = options.uniqueKey.map { ActionIdentity(type: ObjectIdentifier(type(of: action)), key: $0) }
  }

  /// The actions to finish first.
  var dependencies: [AnyActionHandle] { unfinished.withLock { $0 } }

  /// Releases the dependencies: a reference to the last of many actions in a row would keep them all.
  func takeDependencies() -> [AnyActionHandle] {
    unfinished.withLock { dependencies in
      defer { dependencies = [] }
      return dependencies
    }
  }
}

/// An action's type and key.
struct ActionIdentity: Sendable, Hashable {
  let type: ObjectIdentifier
  let key: ActionKey
}

/// What a handle is made with, besides the action.
struct ActionSubmission {
  typealias Completion = @Sendable (any ActionProxy) -> Void

  let queue: ActionQueue
  let dispatcher: ActionDispatcher
  let entity: EntityDescription?
  let terms: ActionTerms?
  let completions: [Completion]
}
