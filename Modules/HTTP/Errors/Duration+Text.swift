import Foundation

/// A number of seconds as text.
func seconds(_ duration: Duration) -> String { String(format: "%g", duration / .seconds(1)) }
