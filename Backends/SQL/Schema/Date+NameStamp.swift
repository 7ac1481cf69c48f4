package import Foundation

extension Date {
  /// The date and the time, to the second and without separators, as a part of the name of a store that is set aside or
  /// copied.
  package var nameStamp: String {
    formatted(
      .iso8601.year().month().day().dateSeparator(.omitted).time(includingFractionalSeconds: false)
        .timeSeparator(.omitted))
  }
}
