public import Foundation

extension ActionContext {
  /// The progress of the context's action, which the action sets; `nil` in a context without an action, and after the
  /// handle of the action was released. May be used from any thread.
  public var progress: Progress? { execution?.progress }
}
