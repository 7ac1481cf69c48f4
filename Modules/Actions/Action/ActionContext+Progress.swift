import Foundation

extension ActionContext {
  /// The progress of the action that the context was made for, for it to set; `nil` in a context that was made otherwise.
  public var progress: Progress? { execution?.progress }
}
