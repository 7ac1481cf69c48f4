import CoherenceCore

/// The conversion of a column's numbers to another type by the engine, for numbers that the type keeps exactly.
struct NumberConversion: Sendable {
  /// The values that the other type keeps.
  private enum Fit: Sendable {
    case all
    case between(Int, Int)
    case wholeBetween(Int, Int)
    case zeroAndOne
  }
  private let source: StorageType
  private let target: StorageType
  private let fit: Fit

  /// - Returns: `nil` if the engine does not convert between the types: for one type twice, for a type without numbers,
  ///   and for pairs that need a conversion of the attribute, such as those from `decimal`, from `double` to `float`,
  ///   and from `bool` to `double`.
  init?(from source: StorageType, to target: StorageType) {
    guard let fit = Self.fit(from: source, to: target) else { return nil }
    self.source = source
    self.target = target
    self.fit = fit
  }

  private static func fit(from source: StorageType, to target: StorageType) -> Fit? {
    switch (source, target) {
    case (.bool, .int16), (.bool, .int32), (.bool, .int64), (.float, .double): .all
    case (.int16, .decimal), (.int32, .decimal), (.int64, .decimal): .all
    case (.int16, .bool), (.int32, .bool), (.int64, .bool): .zeroAndOne
    default: rangedFit(from: source, to: target)
    }
  }

  /// Integers and binary floating-point numbers fit by the whole numbers that both sides hold.
  private static func rangedFit(from source: StorageType, to target: StorageType) -> Fit? {
    guard source != target, let sourceRange = source.wholeNumbers, let targetRange = target.wholeNumbers
    else { return nil }
    if source.isInteger {
      return targetRange.contains(sourceRange) ? .all : .between(targetRange.lowerBound, targetRange.upperBound)
    }
    guard target.isInteger else { return nil }
    let common = sourceRange.clamped(to: targetRange)
    return .wholeBetween(common.lowerBound, common.upperBound)
  }

  /// Whether every value of the one type is a value of the other.
  var isLossless: Bool {
    if case .all = fit { return true }
    return false
  }

  /// Whether the engine stores the numbers of both types in the same way, so that no conversion is needed.
  func isIdentity(in dialect: any SQLDialect) -> Bool {
    isLossless && dialect.columnType(source) == dialect.columnType(target)
  }

  /// Whether a value is lost by the conversion, as a condition; `nil` when none is. A missing value is not lost.
  func misfit(_ value: SQLFragment, _ dialect: any SQLDialect) -> SQLFragment? {
    switch fit {
    case .all: nil
    case .between(let low, let high): "\(value) NOT BETWEEN \(number: low) AND \(number: high)"
    case .zeroAndOne: "\(value) NOT IN (0, 1)"
    case .wholeBetween(let low, let high):
      // In two steps, because engines refuse to convert a number out of range to an integer.
      """
      CASE WHEN \(value) NOT BETWEEN \(number: low) AND \(number: high) THEN \(dialect.boolean(true)) \
      ELSE \(value) <> \(dialect.cast(dialect.cast(value, to: target), to: .double)) END
      """
    }
  }

  /// The value in the other type; missing for a value that does not fit.
  func converted(_ value: SQLFragment, _ dialect: any SQLDialect) -> SQLFragment {
    let number = exact(value, dialect)
    guard let misfit = misfit(value, dialect) else { return number }
    return "CASE WHEN \(misfit) THEN NULL ELSE \(number) END"
  }

  /// The value in the other type, for a value that fits.
  private func exact(_ value: SQLFragment, _ dialect: any SQLDialect) -> SQLFragment {
    if source == .bool { return "CASE WHEN \(value) IS NULL THEN NULL WHEN \(value) THEN 1 ELSE 0 END" }
    return target == .bool ? "\(value) <> 0" : dialect.cast(value, to: target)
  }
}

extension StorageType {
  /// The range of whole numbers that the type represents without gaps; `nil` for types other than binary numbers.
  fileprivate var wholeNumbers: ClosedRange<Int>? {
    switch self {
    case .int16: Int(Int16.min)...Int(Int16.max)
    case .int32: Int(Int32.min)...Int(Int32.max)
    case .int64: Int(Int64.min)...Int(Int64.max)
    case .float: -(1 << 24)...(1 << 24)
    case .double: -(1 << 53)...(1 << 53)
    default: nil
    }
  }

  /// The representation of an attribute's type, by the name of the type in stored schemas; `nil` for other names.
  init?(ofTypeNamed name: String) {
    switch name {
    case "url", "codable", "weakReference": self = .string
    case "reference": return nil
    case _ where name.hasPrefix("transformable("): self = .data
    case _ where name.hasPrefix("enumeration("):
      self.init(ofTypeNamed: String(name.dropFirst("enumeration(".count).dropLast()))
    default: self.init(rawValue: name)
    }
  }
}
