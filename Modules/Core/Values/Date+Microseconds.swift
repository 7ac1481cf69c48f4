public import Foundation

extension Date {
  /// The date as every store keeps it: the nearest microsecond.
  ///
  /// A `Date` of now has parts of microseconds, and no store keeps them. An attribute rounds when the date is assigned, so
  /// the object has the rounded date at once; a structure keeps its own, and differs from the structure that is fetched. Make
  /// the structure with a rounded date to have the two equal:
  ///
  /// ```swift
  /// let note = Note(id: 1, written: Date.now.roundedToMicroseconds())
  /// try manager.save(notes, models: [note], shouldOverwrite: false)
  /// try manager.fetchModel(notes, uid: 1) == note  // true
  /// ```
  ///
  /// A date that is rounded already stays as it is. A date further from 1970 than 292,000 years, which no store keeps, is
  /// returned unchanged. A condition rounds the dates in it likewise: a search for the unrounded date finds the record.
  public func roundedToMicroseconds() -> Date { Timestamp(self)?.date ?? self }
}
