public import Foundation

extension ActionContext {
  /// The progress of the context's action, to be set by it; `nil` in a context made without an action.
  public var progress: Progress? { execution?.progress }
}
